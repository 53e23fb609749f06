import { type LetterSummary, letterSchema } from './api/delivery.ts';
import { type LogLine, type LogRow, logLineSchema, logRowSchema, type RecordPage } from './api/logs.ts';
import { type ProcessSummary, processSchema } from './api/process.ts';
import { type ListedRouter, listedRouterSchema, NO_DEVICE } from './api/routers.ts';
import type { FleetShards, ForeignRouter, WebContent } from './content.ts';
import type { FanOut, FleetList, PeerFault } from './fan-out.ts';
import { toFleetQuery } from './record-query.ts';
import { nameProcess, toProcessKey } from './shards.ts';

/** Place of a line among those of its router. */
export interface RecordPlace {
  /** Its time, as written. */
  readonly time: string;
  /** Number of its commit among those of its router. */
  readonly seq: number;
  /** Number of the records behind it in that commit. */
  readonly back: number;
}

const PLACE = /^(\d{4}-[0-9T:.-]{5,30}Z)_(\d{1,15})_(\d{1,15})$/;
/** Text of the records of one page: a record has up to 64 KiB. Characters. */
const PAGE_CHARS_MAX = 1024 * 1024;

/** True if a line stands before another one: by its time; at the same time, by the order of the commits. */
export function isOlder(one: RecordPlace, other: RecordPlace): boolean {
  if (one.time !== other.time) return one.time < other.time;
  return one.seq === other.seq ? one.back > other.back : one.seq < other.seq;
}

/** Renders a place as the value of `before`, which selects what is older. */
export function renderRecordPlace({ time, seq, back }: RecordPlace): string {
  return `${time}_${seq}_${back}`;
}

/** Parses a value of `before`; `undefined` for anything else. */
export function parseRecordPlace(before: string): RecordPlace | undefined {
  const [, time, seq, back] = PLACE.exec(before) ?? [];
  return time === undefined ? undefined : { time, seq: Number(seq), back: Number(back) };
}

/** Cuts lines to one page, by their number and by the length of their texts; there is at least one, if there are any. */
export function cutToPage<Line extends { readonly message: string }>(lines: readonly Line[], limit: number): Line[] {
  const page: Line[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.message.length;
    if (page.length === limit || (chars > PAGE_CHARS_MAX && page.length > 0)) break;
    page.push(line);
  }
  return page;
}

/** This process and the others. */
interface Processes {
  readonly content: WebContent;
  readonly fanOut: FanOut;
}

/** The routers of all processes. */
export interface WholeFleet extends Pick<WebContent, 'listRouters' | 'findRouter' | 'describeAvailability'> {
  /** Processes that did not answer; their routers are listed with the state `unknown`. */
  readonly faults: readonly PeerFault[];
}

/** What one process of the fleet has. */
export interface ProcessPart<T> {
  /** Its name on pages, as in `process 1`; `undefined` if there is only one. */
  readonly name: string | undefined;
  /** Its name in addresses; `undefined` if there is only one. */
  readonly key: string | undefined;
  readonly value: T;
}

/** Some of what all processes of the fleet have, this one included. */
export interface WholeList<T> {
  readonly values: readonly T[];
  /** Processes whose values are missing. */
  readonly faults: readonly PeerFault[];
}

const ROUTERS: FleetList<ListedRouter> = {
  path: '/api/v1/routers?own=1',
  key: 'routers',
  row: listedRouterSchema,
  routerOf: ({ name }) => name,
  isShared: true,
};

const LOGS: FleetList<LogRow> = {
  path: '/api/v1/logs?own=1',
  key: 'logs',
  row: logRowSchema,
  routerOf: ({ router }) => router,
  isShared: true,
};

const PROCESS: FleetList<ProcessSummary> = { path: '/api/v1/process', row: processSchema, isShared: true };

const UNKNOWN: Omit<ListedRouter, 'name' | 'url' | 'labels'> = {
  state: 'unknown',
  lifecycle: { state: 'active', until: null, setBy: 'default' },
  since: null,
  isFirstState: false,
  isStale: false,
  lastSuccess: null,
  retryAfter: null,
  failure: null,
  fault: null,
  consecutiveFailures: 0,
  durationSeconds: null,
  logLagSeconds: null,
  logLossSince: null,
  bytesToday: 0,
  byteBudget: null,
  firmware: null,
  device: NO_DEVICE,
  availability: '',
};

/** Returns the routers of this process and of all others whose addresses are configured. */
export async function collectFleet({ content, fanOut }: Processes): Promise<WholeFleet> {
  const shards = content.describeShards();
  const { rows, faults } = await fanOut.collect(shards, ROUTERS);
  const said = new Map([...rows.values()].flat().map((row): [string, ListedRouter] => [row.name, row]));
  // Without addresses, the routers of the others are not known to be anywhere.
  const others = shards && shards.peers.length > 0 ? shards.others : new Map<string, ForeignRouter>();
  // Name, URL and labels are those of the configuration here.
  const describe = ({ name, url, labels }: ForeignRouter) => ({ ...(said.get(name) ?? UNKNOWN), name, url, labels });
  return {
    faults,
    *listRouters() {
      yield* content.listRouters();
      // While a configuration is loaded again, a router may still be listed as that of another process.
      for (const router of others.values()) if (!content.hasRouter(router.name)) yield describe(router);
    },
    findRouter(name) {
      const other = others.get(name);
      return content.findRouter(name) ?? (other && describe(other));
    },
    describeAvailability(name) {
      const other = others.get(name);
      return other && !content.hasRouter(name) ? describe(other).availability : content.describeAvailability(name);
    },
  };
}

/** Returns the logs of all routers, in any order. */
export async function collectLogs({
  content,
  fanOut,
}: Processes): Promise<{ readonly values: Iterable<LogRow>; readonly faults: readonly PeerFault[] }> {
  const { rows, faults } = await fanOut.collect(content.describeShards(), LOGS);
  const logs = function* () {
    yield* content.listLogs();
    for (const theirs of rows.values()) for (const row of theirs) if (!content.hasRouter(row.router)) yield row;
  };
  return { values: logs(), faults };
}

/** Returns the newest lines of all processes, the newest first. */
export async function collectRecords(
  { content, fanOut }: Processes,
  limit: number,
): Promise<{ readonly page: RecordPage; readonly faults: readonly PeerFault[] }> {
  const list: FleetList<LogLine> = {
    path: `/api/v1/records?own=1&limit=${limit}`,
    key: 'records',
    row: logLineSchema,
    routerOf: ({ router }) => router,
  };
  const [own, { rows, faults }] = await Promise.all([
    content.readRecords(toFleetQuery(limit)),
    fanOut.collect(content.describeShards(), list),
  ]);
  if (rows.size === 0) return { page: own, faults };
  const all = [own.records, ...rows.values()]
    .flat()
    .toSorted((a, b) => Number(a.time < b.time) - Number(a.time > b.time));
  return { page: { ...own, records: cutToPage(all, limit) }, faults };
}

/** Returns what each process counts, in the order of the processes. */
export async function collectProcesses({
  content,
  fanOut,
}: Processes): Promise<WholeList<ProcessPart<ProcessSummary>>> {
  const shards = content.describeShards();
  const [own, { rows, faults }] = await Promise.all([describeProcess(content), fanOut.collect(shards, PROCESS)]);
  if (!shards) return { values: [{ name: undefined, key: undefined, value: own }], faults };
  return { values: toParts(shards, new Map(rows).set(shards.index, [own])), faults };
}

/** Returns the newest dead letters of each other process, at most `limit` of each, in the order of the processes. */
export async function collectLetters(
  { content, fanOut }: Processes,
  sink: string | undefined,
  limit: number,
): Promise<WholeList<ProcessPart<LetterSummary>>> {
  const shards = content.describeShards();
  const parameters = new URLSearchParams({ own: '1', limit: String(limit), ...(sink !== undefined && { sink }) });
  const list = { path: `/api/v1/dead-letters?${parameters.toString()}`, key: 'letters', row: letterSchema };
  const { rows, faults } = await fanOut.collect(shards, list);
  return { values: shards ? toParts(shards, rows) : [], faults };
}

function toParts<T>(shards: FleetShards, rows: ReadonlyMap<number, readonly T[]>): readonly ProcessPart<T>[] {
  return [...rows]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([shard, values]) =>
      values.map((value) => ({ name: nameProcess(shards, shard), key: toProcessKey(shards, shard), value })),
    );
}

/** Describes this process. */
export async function describeProcess(content: WebContent): Promise<ProcessSummary> {
  return {
    minutes: await content.listFleetMinutes(),
    gaps: content.countGaps(),
    runs: content.describeRuns(),
    sinks: content.listSinks(),
    spool: content.describeSpool(),
  };
}
