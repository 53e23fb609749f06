/** A rotated file of one component: one rotation, however many forms of it are listed. */
export interface RotatedFile {
  /** `YYYY-MM-DD-hh:mm:ss` in UTC by the router's clock. Identifies and orders the file. */
  readonly stamp: string;
  /** Listed name to request; the compressed form if there are several, because the other is about to be deleted. */
  readonly name: string;
}

/** The log files of one component. */
export interface ListedLog {
  readonly current: string | undefined;
  readonly rotated: readonly RotatedFile[];
}

/** The listed log files of a router by component. */
export interface Listing {
  readonly logs: ReadonlyMap<string, ListedLog>;
  /** Number of names of no known form, which are never requested. */
  readonly unknown: number;
}

/** Maximum logs of one router; real ones have about 20. More count as unknown. */
export const COMPONENTS_MAX = 256;

/** `Date.UTC` maps earlier years to the twentieth century. */
const YEAR_MIN = 1000;

const NAME =
  /^([A-Za-z0-9_][A-Za-z0-9._-]{0,63})\/(?:(current)|log-(\d{4}-\d{2}-\d{2}-\d{2}:\d{2}:\d{2})(\.(?:bz2|gz|xz|Z))?)$/;

/** Parses an untrusted listing. Order and repetition of names do not matter. */
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

/** The order of compressed forms is fixed, so that the choice is stable. */
function isPreferred(name: string, suffix: string | undefined, known: string | undefined): boolean {
  if (known === undefined || suffix === undefined) return known === undefined;
  const isKnownPlain = name === `${known}${suffix}`;
  return isKnownPlain || name < known;
}

export function renderStamp(utcMs: number): string {
  return new Date(utcMs).toISOString().slice(0, 19).replace('T', '-');
}

/** Parses a stamp. Milliseconds since the Unix epoch, by the router's clock. */
export function parseStampUtcMs(stamp: string): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = toNumbers(stamp);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Accepts leap seconds. */
function isMoment(stamp: string): boolean {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = toNumbers(stamp);
  return (
    year >= YEAR_MIN && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second <= 60
  );
}

function toNumbers(stamp: string): readonly number[] {
  return stamp.split(/[-:]/, 6).map(Number);
}
