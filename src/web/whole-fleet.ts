import { z } from 'zod';
import { type EventQuery, type EventSummary, eventSchema, sortEvents } from './api/events.ts';
import {
  type LogLine,
  type LogRow,
  logLineSchema,
  logRowSchema,
  type RecordPage,
  type RecordQuery,
  toFleetQuery,
} from './api/logs.ts';
import { type DeadLetterSummary, deadLetterSchema, type ProcessSummary, processSchema } from './api/process.ts';
import { type ListedRouter, listedRouterSchema, NO_DEVICE, NO_USE, type RouterSummary } from './api/routers.ts';
import type { FanOut, FleetList, FleetShards, ForeignRouter, PeerFault } from './fan-out.ts';
import type { WebContext } from './server/context.ts';

/** The content of this process about the fleet. */
export interface FleetContent {
  /** `undefined` if this process is the only one. */
  describeShards(): FleetShards | undefined;
  /** True if a router of this name is configured. */
  hasRouter(name: string): boolean;
  /** Names of all routers, unordered. */
  listNames(): readonly string[];
  /** All routers, unordered. Created one by one, so that the caller can yield in between. */
  listRouters(): Iterable<RouterSummary>;
  /** Returns one router; `undefined` if it is not configured. */
  findRouter(name: string): ListedRouter | undefined;
  /** Returns the results of its polls as {@link ListedRouter.availability}; empty without any. */
  describeAvailability(name: string): string;
  /** The logs of all routers, unordered. */
  listLogs(): Iterable<LogRow>;
  /** Returns the last matching lines, newest first, from the store. */
  readRecords(query: RecordQuery): Promise<RecordPage>;
  /** Lists the newest matching events of this process, newest first. */
  listEvents(query: EventQuery): readonly EventSummary[];
  /** Describes this process: counts, sinks, spool. */
  describeProcess(): Promise<ProcessSummary>;
}

/** Text of the records of one page; a single record has up to 64 KiB. Characters. */
const PAGE_CHARS_MAX = 1024 * 1024;

/** Truncates lines to one page, by number and by length of text; keeps at least one. */
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

interface Processes {
  readonly content: FleetContent;
  readonly fanOut: FanOut;
}

/** The routers of all processes. */
export interface WholeFleet
  extends Pick<FleetContent, 'listNames' | 'listRouters' | 'findRouter' | 'describeAvailability'> {
  /** Processes that did not answer; their routers have the state `unknown`. */
  readonly faults: readonly PeerFault[];
}

/** A value of one process of the fleet. */
export interface ProcessPart<T> {
  /** Name on pages, as in `process 1`; `undefined` if there is only one. */
  readonly name: string | undefined;
  /** Key in URLs; `undefined` if there is only one. */
  readonly key: string | undefined;
  readonly value: T;
}

interface WholeList<T> {
  readonly values: Iterable<T>;
  /** Processes with missing values. */
  readonly faults: readonly PeerFault[];
}

type WholeParts<T> = { readonly values: readonly ProcessPart<T>[]; readonly faults: readonly PeerFault[] };

const ROUTERS: FleetList<ListedRouter> = {
  path: '/api/v1/routers?own=1',
  key: 'routers',
  // A process of an earlier version lacks the keys that came later.
  row: z.looseObject({}).pipe(z.preprocess((row) => ({ ...UNKNOWN, ...row }), listedRouterSchema)),
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
  gaps: 0,
  isSlow: false,
  certificateExpiry: null,
  bytesToday: 0,
  byteBudget: null,
  use: NO_USE,
  firmware: null,
  device: NO_DEVICE,
  traffic: null,
  availability: '',
};

/** Returns the routers of this process and of all others with known addresses. */
export async function collectFleet({ content, fanOut }: Processes): Promise<WholeFleet> {
  const shards = content.describeShards();
  const { rows, faults } = await fanOut.collect(shards, ROUTERS);
  const said = new Map([...rows.values()].flat().map((row): [string, ListedRouter] => [row.name, row]));
  // Without addresses, routers of other processes are not listed.
  const others = shards && shards.peers.length > 0 ? shards.others : new Map<string, ForeignRouter>();
  // Name, URL and labels come from the configuration here.
  const describe = ({ name, url, labels }: ForeignRouter) => ({ ...(said.get(name) ?? UNKNOWN), name, url, labels });
  return {
    faults,
    listNames: () => [...new Set([...content.listNames(), ...others.keys()])],
    *listRouters() {
      yield* content.listRouters();
      // During a reload a router may still be listed as that of another process.
      for (const router of others.values()) if (!content.hasRouter(router.name)) yield describe(router);
    },
    findRouter(name) {
      const other = others.get(name);
      return content.findRouter(name) ?? (other && describe(other));
    },
    describeAvailability: (name) => content.describeAvailability(name) || (said.get(name)?.availability ?? ''),
  };
}

/** Returns the logs of all routers, unordered. */
export async function collectLogs({ content, fanOut }: Processes): Promise<WholeList<LogRow>> {
  const { rows, faults } = await fanOut.collect(content.describeShards(), LOGS);
  const logs = function* () {
    yield* content.listLogs();
    for (const theirs of rows.values()) for (const row of theirs) if (!content.hasRouter(row.router)) yield row;
  };
  return { values: logs(), faults };
}

/** Returns the newest lines of all processes, newest first. */
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

/** Returns the newest matching events of all processes, newest first. */
export async function collectEvents(
  { content, fanOut }: Processes,
  query: EventQuery,
): Promise<{ readonly events: readonly EventSummary[]; readonly faults: readonly PeerFault[] }> {
  const { max, ...conditions } = query;
  const wanted = Object.entries(conditions).filter(([, value]) => value !== undefined);
  const list: FleetList<EventSummary> = {
    path: `/api/v1/events?${new URLSearchParams({ own: '1', limit: String(max), ...Object.fromEntries(wanted) }).toString()}`,
    key: 'events',
    row: eventSchema,
    routerOf: ({ router }) => router,
  };
  const { rows, faults } = await fanOut.collect(content.describeShards(), list);
  return { events: sortEvents([content.listEvents(query), ...rows.values()].flat(), max), faults };
}

/** Returns the summary of each process, in order. */
export async function collectProcesses({ content, fanOut }: Processes): Promise<WholeParts<ProcessSummary>> {
  const shards = content.describeShards();
  const [own, { rows, faults }] = await Promise.all([content.describeProcess(), fanOut.collect(shards, PROCESS)]);
  if (!shards) return { values: [{ name: undefined, key: undefined, value: own }], faults };
  return { values: toParts(shards, new Map(rows).set(shards.index, [own])), faults };
}

/** Returns the newest dead letters of each other process, at most `limit` of each, in order. */
export async function collectDeadLetters(
  { content, fanOut }: Processes,
  sink: string | undefined,
  limit: number,
): Promise<WholeParts<DeadLetterSummary>> {
  const shards = content.describeShards();
  const parameters = new URLSearchParams({ own: '1', limit: String(limit), ...(sink !== undefined && { sink }) });
  const list = { path: `/api/v1/dead-letters?${parameters.toString()}`, key: 'letters', row: deadLetterSchema };
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

/** Removes credentials from the router's URL. The configuration rejects them already; this is a second safeguard. */
export function withoutCredentials<T extends RouterSummary>(router: T): T {
  if (!router.url.includes('@')) return router;
  const url = URL.parse(router.url);
  if (!url) return { ...router, url: '' };
  url.username = '';
  url.password = '';
  return { ...router, url: url.href };
}

/**
 * Answers a request about a router of another process: a redirect to `path` there if its address is known, otherwise 421; 503 while the
 * router moves to this replica. `undefined` if no process has the router.
 */
export function answerForOther(
  content: Pick<FleetContent, 'describeShards'>,
  context: WebContext,
  router: string,
  path: string,
): Response | undefined {
  const shards = content.describeShards();
  const other = shards?.others.get(router);
  if (!shards || !other) return undefined;
  // No replica is known to have it, or it is moving here.
  if (shards.names && (shards.names[other.shard] === undefined || other.shard === shards.index)) {
    return context.text('The router is moving to another replica; try again.\n', 503, { 'Retry-After': '1' });
  }
  return redirectTo(shards, other.shard, context, path, 'has this router');
}

/**
 * Returns the base URL of a process for the client of a request. A process at a loopback address is reached by the name that the client
 * has for this one, on the port of that one.
 */
export function locatePeer({ peers }: FleetShards, shard: number, context: WebContext): string | undefined {
  const url = URL.parse(peers[shard] ?? '');
  if (!url || !LOOPBACK_HOST.test(url.hostname)) return peers[shard];
  url.hostname = new URL(context.req.url).hostname;
  return url.href.replace(/\/$/, '');
}

const LOOPBACK_HOST = /^(127\.[\d.]+|\[::1\])$/;

/** Redirects a request to `path` of another process; 421 if its address is not known. `what`: such as `has this router`. */
export function redirectTo(
  shards: FleetShards,
  shard: number,
  context: WebContext,
  path: string,
  what: string,
): Response {
  const peer = locatePeer(shards, shard, context);
  if (peer !== undefined) return context.redirect(`${peer}${path}${new URL(context.req.url).search}`, 307);
  const message = shards.names
    ? `Replica ${shards.names[shard]} ${what}, at no known address (cluster.nats.advertise).\n`
    : `Process ${shard} of ${shards.total} ${what} (--shard). List all processes in web.peers to be redirected.\n`;
  return context.text(message, 421);
}

/** Returns the name of a process on pages: `process 1`, `replica b`. */
export function nameProcess({ names }: Pick<FleetShards, 'names'>, shard: number): string {
  const name = names?.[shard];
  return name === undefined ? `process ${shard}` : `replica ${name}`;
}

/** The name in a cluster, whose indices change with its members, or the index. */
function toProcessKey({ names }: Pick<FleetShards, 'names'>, shard: number): string {
  return names?.[shard] ?? String(shard);
}

/** Returns the index of the process with a key. */
export function findProcess(shards: FleetShards | undefined, key: string): number | undefined {
  const index = Array.from({ length: shards?.total ?? 0 }, (_, shard) => toProcessKey(shards ?? {}, shard)).indexOf(
    key,
  );
  return index === -1 ? undefined : index;
}
