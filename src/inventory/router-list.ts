import { isIPv6 } from 'node:net';
import { CodedError, forEachYielding } from '../base/index.ts';
import { CONFIG_FILE_BYTES_MAX, LABEL_CHARS_MAX } from '../settings/index.ts';
import type { NetboxSettings } from './settings.ts';

/**
 * - `unreachable`: wrong address, failed connection, or time-out.
 * - `refused`: the status of the answer is not 200.
 * - `too_large`: the answer exceeds its limit.
 * - `invalid`: the answer is not a list of routers.
 */
type InventoryFailure = 'unreachable' | 'refused' | 'too_large' | 'invalid';

/** A source could not be read. The routers that it named before stay. */
export class InventoryError extends CodedError<InventoryFailure> {
  override readonly name = 'InventoryError';
}

/** Creates the error of one reading; the next one is due after the interval of the source. */
export function failReading(code: InventoryFailure, message: string, cause?: unknown, hint?: string): InventoryError {
  return new InventoryError(code, message, { disposition: 'retry', cause, hint });
}

type NamedRouter = Readonly<Record<string, unknown>>;

/** Heap of the thread that parses a list, twice what usual lists need. */
const HEAP_MB = { perRouter: 0.03, else: 64 };

/** Returns the heap in MiB of a thread that parses a list of this many routers. */
export function toHeapMb(routersMax: number): number {
  return HEAP_MB.else + Math.ceil(HEAP_MB.perRouter * routersMax);
}

/** Says that a list has more routers than its source may name. */
export function describeTooMany(routersMax: number): string {
  return `The list has more than ${routersMax} routers; if all are wanted, and there is memory for them, raise "routers_max" of the source`;
}

/** A list of routers. */
export interface ListedRouters {
  /** The list as JSON, one router per line. */
  readonly text: string;
  /** Where each router is written, in the order of the list, such as `entry 3 of /etc/routers.yaml`. */
  readonly places: readonly string[];
}

/** One more than a router may have, so that too many are refused. */
const LABELS_KEPT = 33;
/** One more than the name or value of a label may have, so that longer ones are refused. */
const LABEL_CHARS_KEPT = LABEL_CHARS_MAX + 1;

/**
 * Collects the routers of one answer as text, one per line, ordered by name and with sorted keys, so that the same
 * routers always give the same text; it does not include places for this reason. The text is bounded as well as the
 * answer, because a short answer may name the same large labels for thousands of routers.
 */
export class RouterList {
  readonly #routersMax: number;
  readonly #lines: { readonly line: string; readonly place: string }[] = [];
  #bytes = 0;

  constructor(routersMax: number) {
    this.#routersMax = routersMax;
  }

  /** Adds a router that is written at `place`. Throws `InventoryError` when the list becomes too large. */
  add(router: NamedRouter, place: string): void {
    const { name, ...rest } = router;
    const line = JSON.stringify(sortKeys(name === undefined ? rest : { name, ...rest }, ['name']));
    this.#bytes += Buffer.byteLength(line) + 2;
    if (this.#lines.length >= this.#routersMax) throw failReading('too_large', describeTooMany(this.#routersMax));
    if (this.#bytes > CONFIG_FILE_BYTES_MAX - 4) {
      throw failReading('too_large', `The routers of the list need more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
    }
    this.#lines.push({ line, place });
  }

  render(): ListedRouters {
    if (this.#lines.length === 0) return { text: '[]\n', places: [] };
    const sorted = this.#lines.toSorted((a, b) => (a.line < b.line ? -1 : Number(a.line > b.line)));
    return { text: `[\n${sorted.map(({ line }) => line).join(',\n')}\n]\n`, places: sorted.map(({ place }) => place) };
  }
}

/** Bounds labels, but keeps enough of them for the check to refuse them. */
function cutLabels(labels: readonly (readonly [string, unknown])[]): NamedRouter | undefined {
  if (labels.length === 0) return undefined;
  // Not by assignment: the name may be that of a prototype.
  return Object.fromEntries(labels.slice(0, LABELS_KEPT).map(([name, value]) => [cut(name), cut(value)]));
}

function cut<Value>(value: Value): Value | string | null {
  if (typeof value === 'string') return value.slice(0, LABEL_CHARS_KEPT);
  return typeof value === 'object' ? null : value;
}

/** Depth is bounded; keys in `first` come first. */
function sortKeys(value: unknown, first: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => sortKeys(item));
  if (typeof value !== 'object' || value === null) return value;
  const rank = (key: string) => (first.includes(key) ? 0 : 1);
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

const NAME_CHARS = /[^A-Za-z0-9._-]+/g;
const NAME_CHARS_MAX = 128;

/** Labels of Prometheus service discovery that set keys of the router. */
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
 * Adds the routers of a list in the format of Prometheus service discovery, whose items have `targets`, or of a list of
 * routers. Items of another shape become routers that are refused. `origin` names the list. Rejects with
 * `InventoryError` when there are too many.
 */
export async function addRouters(list: RouterList, items: readonly unknown[], origin: string): Promise<void> {
  await forEachYielding(listEntries(items, origin), ([router, place]) => list.add(router, place));
}

function* listEntries(items: readonly unknown[], origin: string): Generator<readonly [NamedRouter, string]> {
  for (const [index, item] of items.entries()) {
    const one = isMap(item) ? item : {};
    const entry = `entry ${index + 1} of ${origin}`;
    if (!Object.hasOwn(one, 'targets')) yield [one, entry];
    else for (const [at, router] of toTargets(one).entries()) yield [router, `target ${at + 1} of ${entry}`];
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

function toName(target: string): string {
  return target
    .slice(0, 2 * NAME_CHARS_MAX)
    .replace(/^\[([^\]]*)\]/, (written, address: string) => (isIPv6(address) ? spellOut(address) : written))
    .replaceAll(NAME_CHARS, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, NAME_CHARS_MAX);
}

/** All eight groups, because without its colons the place of `::` would be ambiguous. */
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
 * Adds the devices of a NetBox. Devices without a name or a primary address are skipped. Rejects with `InventoryError`
 * when there are too many.
 */
export async function addDevices(
  list: RouterList,
  devices: readonly unknown[],
  { scheme, port, labels = {}, group_fields: groupFields = [], states }: NetboxSettings,
  allowedGroups: ReadonlySet<string>,
): Promise<void> {
  await forEachYielding(devices, (device) => {
    const address = readText(device, ['primary_ip', 'address'])?.split('/')[0];
    const name = readText(device, ['name']);
    if (address === undefined || name === undefined) return;
    const host = address.includes(':') ? `[${address}]` : address;
    const found = Object.entries(labels).flatMap(([label, path]) => {
      const value = readText(device, path.split('.'));
      return value === undefined || value === '' ? [] : [[label, value] as const];
    });
    const groups = groupFields
      .flatMap((path) => readTexts(device, path.split('.')))
      .filter((one) => allowedGroups.has(one));
    const status = readText(device, ['status']) ?? '';
    list.add(
      withoutAbsent({
        name: name.replaceAll(NAME_CHARS, '-').slice(0, NAME_CHARS_MAX),
        url: `${scheme}://${host}${port === undefined ? '' : `:${port}`}`,
        groups: groups.length > 0 ? [...new Set(groups)] : undefined,
        labels: cutLabels(found),
        state: Object.hasOwn(states, status) ? states[status] : undefined,
      }),
      'a device of the answer',
    );
  });
}

/** An object counts as its `slug`, `value` or `name`: NetBox renders choices and relations as objects. */
function readText(root: unknown, path: readonly string[]): string | undefined {
  let value = root;
  for (const step of path) value = isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  const inner = isMap(value) ? (value['slug'] ?? value['value'] ?? value['name']) : value;
  if (typeof inner === 'number' || typeof inner === 'boolean') return String(inner);
  return typeof inner === 'string' ? inner : undefined;
}

/** For lists such as `tags`, and for single fields. */
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
