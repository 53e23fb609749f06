import type { Agent } from 'undici';
import { z } from 'zod';
import { type Clock, openDeadline, parseJson, renderErrorChain, Steps, type Timer } from '../base/index.ts';
import { createConnector, createOneConnectionAgent, requestBounded } from '../net/index.ts';
import type { FleetShards } from './content.ts';

/** A process of the fleet whose rows are missing on a page or in a list, all of them or some. */
export interface PeerFault {
  /** Index of the process. */
  readonly shard: number;
  /** Its name, if it is a replica of a cluster. */
  readonly name?: string;
  /** Its base URL; empty if it has none. */
  readonly url: string;
  /** Number of its routers. */
  readonly routers: number;
  /** Why they are missing. */
  readonly error: string;
  /** Number of rows that do not fit the schema here, if it has answered. */
  readonly leftOut?: number;
}

/** A list that each process of the fleet has. */
export interface FleetList<Row> {
  /** Path and query of its API, below the base URL of a process. */
  readonly path: string;
  /** Key of the list in the answer. Default: the answer is the only row. */
  readonly key?: string;
  /** One row, as the API has it. */
  readonly row: z.ZodType<Row>;
  /** Returns the router of a row. Only rows of routers of the process that sends them are taken. Default: rows have none. */
  readonly routerOf?: (row: Row) => string;
  /** True if several requests may share an answer for some seconds. */
  readonly isShared?: boolean;
}

/** A list of the other processes. */
export interface PeerRows<Row> {
  /** Rows by the index of their process; those of processes that did not answer are left out. */
  readonly rows: ReadonlyMap<number, readonly Row[]>;
  /** Processes whose rows are missing. */
  readonly faults: readonly PeerFault[];
}

type PeerAnswer<Row> = { readonly rows: readonly Row[]; readonly leftOut: number } | { readonly error: string };

/** A person who reloads a page wants newer values than these. Milliseconds. */
const FRESH_MS = 5000;
/** Answers and connections are kept this long after somebody looked. Milliseconds. */
const KEPT_MS = 60_000;
/** A page waits this long for the other processes. Milliseconds. */
const ANSWER_MS_MAX = 3000;
/** An answer: 10,000 routers take about 14 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Rows of an answer: 10,000 routers have some logs each. */
const ROWS_MAX = 200_000;
/** A row is parsed at once: that of a line has up to 64 KiB, and its JSON may have several times as much. Characters. */
const ROW_CHARS_MAX = 1024 * 1024;
/** Processes that are asked at the same time for one page. */
const ASKED_MAX = 16;

const NO_ADDRESS = 'Its address is not known: set cluster.nats.advertise there';

/**
 * Asks the other processes of the fleet for their rows of a list, with a token that all of them accept. Each has one connection,
 * and a few seconds and a number of bytes for each answer; redirects are not followed. Does nothing where there is one process.
 */
export class FanOut {
  readonly #clock: Clock;
  /** By URL and path. */
  readonly #kept = new Map<string, { readonly atMs: number; readonly answer: Promise<PeerAnswer<unknown>> }>();
  #agent: Agent | undefined;
  #unwatched: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what the other processes have of a list. Does not throw. */
  async collect<Row>(shards: FleetShards | undefined, list: FleetList<Row>): Promise<PeerRows<Row>> {
    const rows = new Map<number, readonly Row[]>();
    if (!shards || shards.peers.length === 0) return { rows, faults: [] };
    this.#forgetOthers(shards.peers);
    const faults: PeerFault[] = [];
    const left = [...shards.peers.entries()].filter(([shard]) => shard !== shards.index);
    const isOwn = (shard: number) => (row: Row) =>
      list.routerOf === undefined || shards.others.get(list.routerOf(row))?.shard === shard;
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

  /** Cancels the timer and closes the connections. */
  async close(): Promise<void> {
    this.#unwatched?.cancel();
    await this.#agent?.destroy();
  }

  /** Drops the answers of processes that are not configured any more, and all of them when nobody looks for a while. */
  #forgetOthers(peers: FleetShards['peers']): void {
    for (const key of this.#kept.keys()) if (!peers.includes(key.slice(0, key.indexOf(' ')))) this.#kept.delete(key);
    this.#unwatched?.cancel();
    this.#unwatched = this.#clock.setTimer(KEPT_MS, () => this.#kept.clear());
  }

  /** Asks a process, unless an answer that may be shared is young enough or on its way. */
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
    return await readRows(bytes.toString('utf8'), list);
  }
}

/** What follows the rows of an answer. */
const endSchema = z.object({ fault: z.string().nullish() });

/** Reads the rows of an answer, each of which stands on a line of its own. Takes breaks. Throws `SyntaxError`. */
async function readRows<Row>(text: string, { key, row: schema }: FleetList<Row>): Promise<PeerAnswer<Row>> {
  const rows: Row[] = [];
  let leftOut = 0;
  const add = (line: string) => {
    const row = line.length > ROW_CHARS_MAX ? undefined : schema.safeParse(parseJson(line)).data;
    if (row === undefined) leftOut++;
    else rows.push(row);
  };
  if (key === undefined) {
    add(text);
    return { rows, leftOut };
  }
  const steps = new Steps();
  const head = `{"${key}":[\n`;
  if (!text.startsWith(head)) return { error: 'It answered with something else; it may run another version' };
  let start = head.length;
  while (text[start] !== ']') {
    const end = text.indexOf('\n', start);
    if (end === -1) return { error: 'Its list has no end' };
    if (rows.length + leftOut >= ROWS_MAX) return { error: `Its list has more than ${ROWS_MAX} rows` };
    add(text.slice(start, text[end - 1] === ',' ? end - 1 : end));
    start = end + 1;
    if (steps.isDue) await steps.next();
  }
  const end = text.slice(start + 1).trim();
  const { data } = endSchema.safeParse(parseJson(`{${end.startsWith(',') ? end.slice(1) : end}`));
  return typeof data?.fault === 'string' ? { error: data.fault } : { rows, leftOut };
}

function explainStatus(status: number): string {
  if (status === 401 || status === 403) {
    return 'It refuses this process: add a token with role read to web.access.tokens of the configuration';
  }
  return status === 404
    ? 'It does not know this request: it runs another version'
    : `It answered with status ${status}`;
}

function toFault({ peers, names, others }: FleetShards, shard: number, error: string): PeerFault {
  const name = names?.[shard];
  const routers = [...others.values()].filter((router) => router.shard === shard).length;
  return { shard, ...(name !== undefined && { name }), url: peers[shard] ?? '', routers, error };
}

function toPartFault(shards: FleetShards, shard: number, leftOut: number): PeerFault {
  return { ...toFault(shards, shard, 'They do not fit here; it may run another version'), leftOut };
}
