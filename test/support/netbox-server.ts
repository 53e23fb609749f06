import { type InventoryServer, openInventory } from './open-inventory.ts';

/** A device, with the fields that a test sets. */
export interface NetboxDevice {
  readonly name: string | null;
  readonly address?: string | null;
  readonly site?: string;
  /** Value of a status of NetBox. Default `active`. */
  readonly status?: string;
  readonly tags?: readonly string[];
  readonly customFields?: Readonly<Record<string, unknown>>;
}

/** Largest page that NetBox gives by default (`MAX_PAGE_SIZE`). */
const PAGE_SIZE_MAX = 1000;
const PAGE_SIZE = 50;

/**
 * Opens a stand-in for NetBox: `GET /api/dcim/devices/` of its published OpenAPI description (`dcim_devices_list`, answer
 * `PaginatedDeviceWithConfigContextList`), with the token of its API, `limit`, `offset` and the filter `status`.
 */
export async function openNetbox(token: string, devices: readonly NetboxDevice[]): Promise<InventoryServer> {
  const server = await openInventory();
  server.answer = ({ url = '', headers }, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    // Since 4.5 NetBox makes tokens that begin so, and takes them with this scheme alone.
    const scheme = token.startsWith('nbt_') ? 'Bearer' : 'Token';
    if (headers.authorization !== `${scheme} ${token}`) return answer(403, { detail: 'Invalid token' });
    const { pathname, searchParams } = new URL(url, server.url);
    if (pathname !== '/api/dcim/devices/') return answer(404, { detail: 'Not found.' });
    if (searchParams.has('status') && searchParams.get('status') !== 'active')
      return answer(400, { status: ['Invalid'] });
    const limit = Math.min(Number(searchParams.get('limit') ?? PAGE_SIZE), PAGE_SIZE_MAX);
    const offset = Number(searchParams.get('offset') ?? 0);
    const page = (start: number) => `${server.url}/api/dcim/devices/?limit=${limit}&offset=${start}`;
    return answer(200, {
      count: devices.length,
      next: offset + limit < devices.length ? page(offset + limit) : null,
      previous: offset > 0 ? page(Math.max(0, offset - limit)) : null,
      results: devices
        .slice(offset, offset + limit)
        .map((device, index) => toDevice(server.url, offset + index + 1, device)),
    });
  };
  return server;
}

function toDevice(
  root: string,
  id: number,
  { name, address = null, site = 'munich', status = 'active', tags = [], customFields = {} }: NetboxDevice,
) {
  const brief = (path: string, slug: string) => ({
    id: 1,
    url: `${root}/api/${path}/1/`,
    display: slug,
    name: slug,
    slug,
  });
  const ip =
    address === null
      ? null
      : {
          id,
          url: `${root}/api/ipam/ip-addresses/${id}/`,
          display: address,
          family: { value: address.includes(':') ? 6 : 4, label: 'IP' },
          address,
        };
  return {
    id,
    url: `${root}/api/dcim/devices/${id}/`,
    display: name ?? 'unnamed',
    name,
    device_type: {
      ...brief('dcim/device-types', 'mrx3'),
      manufacturer: brief('dcim/manufacturers', 'insys'),
      model: 'MRX3',
    },
    role: brief('dcim/device-roles', 'router'),
    tenant: null,
    platform: brief('dcim/platforms', 'icom-os'),
    serial: '10041',
    asset_tag: null,
    site: brief('dcim/sites', site),
    location: null,
    rack: null,
    status: { value: status, label: `${status.slice(0, 1).toUpperCase()}${status.slice(1)}` },
    primary_ip: ip,
    primary_ip4: ip,
    primary_ip6: null,
    tags: tags.map((slug) => ({ ...brief('extras/tags', slug), color: '9e9e9e' })),
    custom_fields: customFields,
    created: '2026-01-01T00:00:00Z',
    last_updated: '2026-11-01T00:00:00Z',
  };
}
