import { isIPv6 } from 'node:net';
import { cutLabels, type NamedRouter, type RouterList } from './router-list.ts';
import type { NetboxSettings } from './settings.ts';

/** Characters of names of routers; others become `-`. */
const NAME_CHARS = /[^A-Za-z0-9._-]+/g;
const NAME_CHARS_MAX = 128;

/** Labels of the service discovery of Prometheus that say something about the router itself. */
const META = {
  name: '__router_name__',
  scheme: '__scheme__',
  groups: '__router_groups__',
  credentials: '__router_credentials__',
  tls_set: '__router_tls_set__',
  timezone: '__router_timezone__',
  state: '__router_state__',
  state_until: '__router_state_until__',
} as const;

/**
 * Converts a list in the format of service discovery of Prometheus, whose items have `targets`, or a list of routers. Items of
 * another shape become routers that are refused. `origin` is where the list is from. Rejects with `InventoryError` when there are
 * too many.
 */
export async function addRouters(list: RouterList, items: readonly unknown[], origin: string): Promise<void> {
  for (const [index, item] of items.entries()) {
    const one = isMap(item) ? item : {};
    const entry = `entry ${index + 1} of ${origin}`;
    if (!Object.hasOwn(one, 'targets')) await list.add(one, entry);
    else for (const [at, router] of toTargets(one).entries()) await list.add(router, `target ${at + 1} of ${entry}`);
  }
}

function toTargets({ targets, labels }: NamedRouter): readonly NamedRouter[] {
  const own = isMap(labels) ? labels : {};
  const meta = (name: string) => (Object.hasOwn(own, name) ? own[name] : undefined);
  const scheme = meta(META.scheme) ?? 'https';
  const groups = meta(META.groups);
  const rest = {
    groups:
      typeof groups === 'string'
        ? groups
            .split(',')
            .map((one) => one.trim())
            .filter((one) => one !== '')
        : groups,
    credentials: meta(META.credentials),
    tls_set: meta(META.tls_set),
    timezone: meta(META.timezone),
    state: meta(META.state),
    state_until: meta(META.state_until),
    labels: cutLabels(Object.entries(own).filter(([label]) => !label.startsWith('__'))),
  };
  return ((Array.isArray(targets) ? targets : [targets]) as readonly unknown[]).map((target) =>
    withoutAbsent({
      name: meta(META.name) ?? (typeof target === 'string' ? toName(target) : undefined),
      url: typeof target === 'string' && typeof scheme === 'string' ? `${scheme}://${target}` : target,
      ...rest,
    }),
  );
}

/** Makes a name of the address of a router. */
function toName(target: string): string {
  return target
    .slice(0, 2 * NAME_CHARS_MAX)
    .replace(/^\[([^\]]*)\]/, (written, address: string) => (isIPv6(address) ? spellOut(address) : written))
    .replaceAll(NAME_CHARS, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, NAME_CHARS_MAX);
}

/** Writes all eight parts of an IPv6 address, because without its colons `::` could stand anywhere. */
function spellOut(address: string): string {
  const [before = '', after] = (URL.parse(`http://[${address}]`)?.hostname ?? '')
    .replaceAll(/^\[|\]$/g, '')
    .split('::');
  const parts = (text = '') => text.split(':').filter((part) => part !== '');
  const [head, tail] = [parts(before), parts(after)];
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...zeros, ...tail].join('-');
}

/**
 * Converts devices of a NetBox. A device without a name or a primary address is not a router that can be asked. Rejects with
 * `InventoryError` when there are too many.
 */
export async function addDevices(
  list: RouterList,
  devices: readonly unknown[],
  { scheme, port, labels = {}, group_fields: groupFields = [], states }: NetboxSettings,
  allowedGroups: ReadonlySet<string>,
): Promise<void> {
  for (const device of devices) {
    const address = readText(device, ['primary_ip', 'address'])?.split('/')[0];
    const name = readText(device, ['name']);
    if (address === undefined || name === undefined) continue;
    const host = address.includes(':') ? `[${address}]` : address;
    const found = Object.entries(labels).flatMap(([label, path]) => {
      const value = readText(device, path.split('.'));
      return value === undefined || value === '' ? [] : [[label, value] as const];
    });
    const groups = groupFields
      .flatMap((path) => readTexts(device, path.split('.')))
      .filter((one) => allowedGroups.has(one));
    const status = readText(device, ['status']) ?? '';
    await list.add(
      withoutAbsent({
        name: name.replaceAll(NAME_CHARS, '-').slice(0, NAME_CHARS_MAX),
        url: `${scheme}://${host}${port === undefined ? '' : `:${port}`}`,
        groups: groups.length > 0 ? [...new Set(groups)] : undefined,
        labels: cutLabels(found),
        state: Object.hasOwn(states, status) ? states[status] : undefined,
      }),
      'a device of the answer',
    );
  }
}

/** Reads a text or number; an object stands for its `slug`, `value` or `name`, as the choices and relations of NetBox. */
function readText(root: unknown, path: readonly string[]): string | undefined {
  let value = root;
  for (const step of path) value = isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  const inner = isMap(value) ? (value['slug'] ?? value['value'] ?? value['name']) : value;
  if (typeof inner === 'number' || typeof inner === 'boolean') return String(inner);
  return typeof inner === 'string' ? inner : undefined;
}

/** Reads the texts of a list such as `tags`, or the one text of a field. */
function readTexts(root: unknown, path: readonly string[]): readonly string[] {
  let value = root;
  for (const step of path) value = isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  if (!Array.isArray(value)) return [readText(root, path)].filter((one) => one !== undefined);
  return value.map((one: unknown) => readText({ one }, ['one'])).filter((one) => one !== undefined);
}

function withoutAbsent(router: NamedRouter): NamedRouter {
  return Object.fromEntries(Object.entries(router).filter(([, value]) => value !== undefined && value !== null));
}

function isMap(value: unknown): value is NamedRouter {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
