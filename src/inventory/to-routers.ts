import { Steps } from '../base/index.ts';
import type { NetboxSettings } from './settings.ts';

/** A router as a source names it: nothing of it has been checked. */
export type NamedRouter = Readonly<Record<string, unknown>>;

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
 * another shape become routers that are refused.
 */
export async function toRouters(items: readonly unknown[]): Promise<NamedRouter[]> {
  const routers: NamedRouter[] = [];
  const steps = new Steps();
  for (const item of items) {
    const one = isMap(item) ? item : {};
    if (Object.hasOwn(one, 'targets')) for (const router of toTargets(one)) routers.push(router);
    else routers.push(one);
    if (steps.isDue) await steps.next();
  }
  return routers;
}

function toTargets({ targets, labels }: NamedRouter): NamedRouter[] {
  const own = isMap(labels) ? labels : {};
  const meta = (name: string) => (Object.hasOwn(own, name) ? own[name] : undefined);
  const scheme = meta(META.scheme) ?? 'https';
  const groups = meta(META.groups);
  const plain = Object.entries(own).filter(([label]) => !label.startsWith('__'));
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
    // Not by assignment: the name may be that of a prototype.
    labels: plain.length > 0 ? Object.fromEntries(plain) : undefined,
  };
  return (Array.isArray(targets) ? targets : [targets]).map((target: unknown) =>
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
    .replaceAll(NAME_CHARS, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, NAME_CHARS_MAX);
}

/** Converts devices of a NetBox. A device without a name or a primary address is not a router that can be asked. */
export async function toNetboxRouters(
  devices: readonly unknown[],
  { scheme, port, labels, groupFields }: NetboxSettings,
  allowedGroups: readonly string[],
): Promise<NamedRouter[]> {
  const routers: NamedRouter[] = [];
  const steps = new Steps();
  const allowed = new Set(allowedGroups);
  for (const device of devices) {
    const address = readText(device, ['primary_ip', 'address'])?.split('/')[0];
    const name = readText(device, ['name']);
    if (address !== undefined && name !== undefined) {
      const host = address.includes(':') ? `[${address}]` : address;
      const found = Object.entries(labels).flatMap(([label, path]) => {
        const value = readText(device, path.split('.'));
        return value === undefined || value === '' ? [] : [[label, value] as const];
      });
      const groups = groupFields
        .flatMap((path) => readTexts(device, path.split('.')))
        .filter((one) => allowed.has(one));
      routers.push(
        withoutAbsent({
          name: name.replaceAll(NAME_CHARS, '-').slice(0, NAME_CHARS_MAX),
          url: `${scheme}://${host}${port === undefined ? '' : `:${port}`}`,
          groups: groups.length > 0 ? [...new Set(groups)] : undefined,
          labels: found.length > 0 ? Object.fromEntries(found) : undefined,
        }),
      );
    }
    if (steps.isDue) await steps.next();
  }
  return routers;
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
