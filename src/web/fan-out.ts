import type { Agent } from 'undici';
import { z } from 'zod';
import {
  type Clock,
  forEachYielding,
  openDeadline,
  parseJson,
  renderErrorChain,
  type Secret,
  type Timer,
} from '../base/index.ts';
import type { LifecycleWish } from '../model/index.ts';
import { createConnector, createOneConnectionAgent, requestBounded } from '../net/index.ts';

/** A router of another process of the fleet. */
export interface ForeignRouter {
  readonly name: string;
  readonly url: string;
  readonly labels: Readonly<Record<string, string>>;
  /** State set by the configuration; a requested one is known only to the router's process. Default: none. */
  readonly lifecycle?: LifecycleWish | undefined;
  /** Token of its notifications. Default: it sends none. */
  readonly notifyToken?: Secret | undefined;
  readonly shard: number;
}

/** A cluster as a replica sees it. */
export interface ClusterSummary {
  readonly name: string;
  readonly replica: string;
  readonly members: number;
  /** Replicas whose leases expired without a shutdown, and when (ISO 8601). */
  readonly missing: readonly { readonly replica: string; readonly since: string }[];
  /** True while this replica has a lease. */
  readonly isLeaseHeld: boolean;
  /** True while NATS cannot be reached. */
  readonly isEngineAway: boolean;
  /** True if the members have different routers configured. */
  readonly areListsDifferent: boolean;
}

/** The processes that share a fleet, as seen by one of them. */
export interface FleetShards {
  /** Index of this process, from 0. */
  readonly index: number;
  readonly total: number;
  /** Base URL of each process by index, without a trailing slash; `undefined` if not known, empty if none are configured. */
  readonly peers: readonly (string | undefined)[];
  /** Names of the replicas of a cluster by index. Default: processes have no names. */
  readonly names?: readonly string[] | undefined;
  readonly cluster?: ClusterSummary | undefined;
  /** Bearer token that the other processes accept; `undefined`: none is sent. */
  readonly token?: Secret | undefined;
  /** The routers of the other processes, by name. */
  readonly others: ReadonlyMap<string, ForeignRouter>;
}

/** A process of the fleet whose rows are missing, all or some. */
export interface PeerFault {
  readonly shard: number;
  /** Name of the replica; absent without a cluster. */
  readonly name?: string;
  /** Base URL; empty if not known. */
  readonly url: string;
  readonly routers: number;
  readonly error: string;
  /** Number of invalid rows in its answer. */
  readonly leftOut?: number;
}

/** A list that each process of the fleet has. */
export interface FleetList<Row> {
  /** Path and query below the base URL of a process. */
  readonly path: string;
  /** Key of the list in the answer. Default: the answer is the only row. */
  readonly key?: string;
  readonly row: z.ZodType<Row>;
  /** Returns the router of a row; null without one. Only routers of the answering process are accepted. Default: rows have no router. */
  readonly routerOf?: (row: Row) => string | null;
  /** True if requests may share an answer for a few seconds. */
  readonly isShared?: boolean;
}

interface PeerRows<Row> {
  /** By process index, without processes that did not answer. */
  readonly rows: ReadonlyMap<number, readonly Row[]>;
  readonly faults: readonly PeerFault[];
}

type PeerAnswer<Row> = { readonly rows: readonly Row[]; readonly leftOut: number } | { readonly error: string };

/** A reload of a page shows newer values than these. Milliseconds. */
const FRESH_MS = 5000;
/** Answers and connections are kept this long after the last request. Milliseconds. */
const KEPT_MS = 60_000;
/** Longest wait of a page for the other processes. Milliseconds. */
const ANSWER_MS_MAX = 3000;
/** 10,000 routers take about 14 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** 10,000 routers have some logs each. */
const ROWS_MAX = 200_000;
/** Parsing does not yield: a log line has up to 64 KiB, and its JSON several times as much. */
const ROW_BYTES_MAX = 1024 * 1024;
/** Processes asked concurrently for one page. */
const ASKED_MAX = 16;

const NO_ADDRESS = 'Its address is not known: set cluster.nats.advertise there';

/**
 * Asks the other processes of the fleet for a list, with a token that all of them accept. One connection for each process, a time limit
 * and a size limit for each answer; redirects are not followed. Does nothing with a single process.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly atMs: number; readonly answer: Promise<PeerAnswer<unknown>> }>();
  #agent: Agent | undefined;
  #unwatched: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the rows of the other processes. Does not throw. */
  async collect<Row>(shards: FleetShards | undefined, list: FleetList<Row>): Promise<PeerRows<Row>> {
    const rows = new Map<number, readonly Row[]>();
    if (!shards || shards.peers.length === 0) return { rows, faults: [] };
    this.#forgetOthers(shards.peers);
    const faults: PeerFault[] = [];
    const left = [...shards.peers.entries()].filter(([shard]) => shard !== shards.index);
    const isOwn = (shard: number) => (row: Row) => {
      const router = list.routerOf?.(row) ?? null;
      return router === null || shards.others.get(router)?.shard === shard;
    };
    const askNext = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [shard, url] = next;
        const answer = url === undefined ? { error: NO_ADDRESS } : await this.#ask(url, shards, list);
        if ('error' in answer) faults.push(toFault(shards, shard, answer.error));
        else {
          rows.set(shard, answer.rows.filter(isOwn(shard)));
          if (answer.leftOut > 0) faults.push(toPartFault(shards, shard, answer.leftOut));
        }
      }
    };
    await Promise.all(Array.from({ length: ASKED_MAX }, askNext));
    return { rows, faults: faults.toSorted((a, b) => a.shard - b.shard) };
  }

  async close(): Promise<void> {
    this.#unwatched?.cancel();
    await this.#agent?.destroy();
  }

  /** Drops answers of processes that are not configured any more, and all answers when no page asks for a while. */
  #forgetOthers(peers: FleetShards['peers']): void {
    for (const key of this.#kept.keys()) if (!peers.includes(key.slice(0, key.indexOf(' ')))) this.#kept.delete(key);
    this.#unwatched?.cancel();
    this.#unwatched = this.#clock.setTimer(KEPT_MS, () => this.#kept.clear());
  }

  #ask<Row>(url: string, shards: FleetShards, list: FleetList<Row>): Promise<PeerAnswer<Row>> {
    const key = `${url} ${list.path}`;
    const nowMs = this.#clock.monotonic();
    const known = list.isShared === true ? this.#kept.get(key) : undefined;
    // One path always has the same type of rows.
    if (known && nowMs - known.atMs < FRESH_MS) return known.answer as Promise<PeerAnswer<Row>>;
    const answer = this.#send(url, shards, list).catch((cause: unknown) => ({ error: renderErrorChain(cause) }));
    if (list.isShared === true) this.#kept.set(key, { atMs: nowMs, answer });
    return answer;
  }

  async #send<Row>(url: string, { token }: FleetShards, list: FleetList<Row>): Promise<PeerAnswer<Row>> {
    using deadline = openDeadline(this.#clock, ANSWER_MS_MAX);
    this.#agent ??= createOneConnectionAgent({ keepAliveMs: KEPT_MS, connect: createConnector(this.#clock) });
    const { status, bytes, isCut } = await requestBounded({
      agent: this.#agent,
      url: `${url}${list.path}`,
      accept: 'application/json',
      headers: token ? { authorization: `Bearer ${token.reveal()}` } : {},
      bytesMax: ANSWER_BYTES_MAX,
      signal: deadline.signal,
    });
    if (status !== 200) return { error: explainStatus(status) };
    if (isCut) return { error: `Its answer is longer than ${ANSWER_BYTES_MAX} bytes` };
    return await readRows(bytes, list);
  }
}

const endSchema = z.object({ fault: z.string().nullish() });

const [COMMA, END] = Buffer.from(',]');

/** Decodes row by row: 14 MB in one piece would hold the thread. */
async function readRows<Row>(bytes: Buffer, { key, row: schema }: FleetList<Row>): Promise<PeerAnswer<Row>> {
  const rows: Row[] = [];
  let leftOut = 0;
  const add = (line: Buffer) => {
    const row = line.length > ROW_BYTES_MAX ? undefined : schema.safeParse(parseJson(line.toString())).data;
    if (row === undefined) leftOut++;
    else rows.push(row);
  };
  if (key === undefined) {
    add(bytes);
    return { rows, leftOut };
  }
  const head = `{"${key}":[\n`;
  if (bytes.toString('latin1', 0, head.length) !== head)
    return { error: 'Unexpected answer: it may run another version' };
  let start = head.length;
  const isFull = () => rows.length + leftOut >= ROWS_MAX;
  const listLines = function* (): Generator<Buffer> {
    for (let end = 0; bytes[start] !== END && !isFull(); start = end + 1) {
      end = bytes.indexOf('\n', start);
      if (end === -1) return;
      yield bytes.subarray(start, bytes[end - 1] === COMMA ? end - 1 : end);
    }
  };
  await forEachYielding(listLines(), add);
  if (bytes[start] !== END) {
    return { error: isFull() ? `Its list has more than ${ROWS_MAX} rows` : 'Its list is truncated' };
  }
  const end = bytes.toString('utf8', start + 1).trim();
  const { data } = endSchema.safeParse(parseJson(`{${end.startsWith(',') ? end.slice(1) : end}`));
  return typeof data?.fault === 'string' ? { error: data.fault } : { rows, leftOut };
}

function explainStatus(status: number): string {
  if (status === 401 || status === 403) {
    return 'It refuses this process: add a token with the role "read" to web.access.tokens';
  }
  return status === 404
    ? 'It does not know this request: it may run another version'
    : `It answered with status ${status}`;
}

function toFault({ peers, names, others }: FleetShards, shard: number, error: string): PeerFault {
  const name = names?.[shard];
  const routers = [...others.values()].filter((router) => router.shard === shard).length;
  return { shard, ...(name !== undefined && { name }), url: peers[shard] ?? '', routers, error };
}

function toPartFault(shards: FleetShards, shard: number, leftOut: number): PeerFault {
  return { ...toFault(shards, shard, 'Invalid here: it may run another version'), leftOut };
}
