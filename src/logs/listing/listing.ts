/** A rotated file of one component: one moment of rotation, however many forms of it the router lists. */
export interface RotatedFile {
  /** `YYYY-MM-DD-hh:mm:ss`, UTC by the router's clock; its identity and its place in the order. */
  readonly stamp: string;
  /** Name to ask for, exactly as listed; the compressed form when there are several, because the other is about to go. */
  readonly name: string;
}

/** The log files of one component. */
export interface ListedLog {
  /** Name of the file that is being written, when it is listed. */
  readonly current: string | undefined;
  /** Oldest first, by the time in the name. */
  readonly rotated: readonly RotatedFile[];
}

/** Log files that a router lists, by component. */
export interface Listing {
  readonly logs: ReadonlyMap<string, ListedLog>;
  /** Number of names that fit no known pattern. They are never requested. */
  readonly unknown: number;
}

/** Maximum number of logs of one router; real ones have about twenty. What is beyond counts as unknown. */
export const COMPONENTS_MAX = 256;

/** `Date.UTC` takes earlier ones for years of the twentieth century. */
const YEAR_MIN = 1000;

const NAME =
  /^([A-Za-z0-9_][A-Za-z0-9._-]{0,63})\/(?:(current)|log-(\d{4}-\d{2}-\d{2}-\d{2}:\d{2}:\d{2})(\.(?:bz2|gz|xz|Z))?)$/;

/** Sorts an untrusted listing by component. Order and repetition of the names do not matter. */
export function parseListing(names: readonly string[]): Listing {
  const logs = new Map<string, { current: string | undefined; rotated: Map<string, RotatedFile> }>();
  let unknown = 0;
  for (const name of names) {
    const match = NAME.exec(name);
    const [, component = '', current, stamp = '', suffix] = match ?? [];
    const isKnown = match !== null && (current !== undefined || isMoment(stamp));
    if (!isKnown || (logs.size >= COMPONENTS_MAX && !logs.has(component))) {
      unknown++;
      continue;
    }
    const log = logs.get(component) ?? { current: undefined, rotated: new Map<string, RotatedFile>() };
    logs.set(component, log);
    if (current) log.current = name;
    else if (isPreferred(name, suffix, log.rotated.get(stamp)?.name)) log.rotated.set(stamp, { stamp, name });
  }
  const sorted = [...logs].map(([component, { current, rotated }]): [string, ListedLog] => [
    component,
    { current, rotated: [...rotated.values()].toSorted((a, b) => (a.stamp < b.stamp ? -1 : 1)) },
  ]);
  return { logs: new Map(sorted), unknown };
}

/** True if this form of a rotated file is requested instead of the `known` one. The order of compressed forms is fixed. */
function isPreferred(name: string, suffix: string | undefined, known: string | undefined): boolean {
  if (known === undefined || suffix === undefined) return known === undefined;
  const isKnownPlain = name === `${known}${suffix}`;
  return isKnownPlain || name < known;
}

/** The stamp of a rotated file for a moment. Milliseconds since the Unix epoch. */
export function renderStamp(utcMs: number): string {
  return new Date(utcMs).toISOString().slice(0, 19).replace('T', '-');
}

/** The moment in a rotated file's name. Milliseconds since the Unix epoch, by the router's clock. */
export function parseStampUtcMs(stamp: string): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = toNumbers(stamp);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** True if a stamp names a moment: a leap second does. */
function isMoment(stamp: string): boolean {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = toNumbers(stamp);
  return (
    year >= YEAR_MIN && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second <= 60
  );
}

function toNumbers(stamp: string): readonly number[] {
  return stamp.split(/[-:]/, 6).map(Number);
}
