import type { Agent } from 'undici';
import { type Clock, parseJson, type Timer } from '../../base/index.ts';
import { createAgent, createConnector, withCorrectedParser } from '../../net/index.ts';
import type { LogLine } from '../api/logs.ts';
import { ConcurrencyLimit } from '../concurrency-limit.ts';
import type { RecordQuery, WebContent } from '../content.ts';
import { renderRecordQuery } from '../record-query.ts';
import { renderCredentials } from './peer-client.ts';
import { readEvents } from './peer-events.ts';
import { findOwner, findProcess, isOwnedBy, nameProcess, toProcessKey } from './processes.ts';
import { decodeLine } from './records.ts';

/** Streams from other processes at a time: each reader has one for each of them. */
const STREAMS_MAX = 500;
/** A process whose stream has ended is asked again in this time. Milliseconds. */
const RETRY_MS = 5000;
/** A stream that was read for so long has ended because its time was over: after 15 minutes. Milliseconds. */
const WHOLE_MS = 10 * 60_000;
/** The processes of the fleet may change while somebody reads. Milliseconds. */
const CHECK_MS = 15_000;

/** Is told what the other processes stream. */
export interface PeerListener {
  /** New lines, and how many others were left out. */
  readonly lines: (lines: readonly LogLine[], skipped: number) => void;
  /** The processes whose lines are missing, by name; called when they have changed. */
  readonly away: (names: readonly string[]) => void;
}

/** One reader and the processes that are followed for it. */
interface Follower {
  readonly content: WebContent;
  readonly query: RecordQuery;
  readonly listener: PeerListener;
  /** By key of the process: its index may change while it is followed. */
  readonly followed: Map<string, { readonly url: string | undefined; readonly end: AbortController }>;
  /** Keys of the processes whose lines are missing. */
  readonly away: Set<string>;
}

/** Follows the lines of other processes for the readers of this one. */
export class PeerStreams {
  readonly #clock: Clock;
  readonly #agent: Agent;
  readonly #places = new ConcurrencyLimit(STREAMS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
    // The limits of time are those of readEvents(); undici's own timers are coarse.
    this.#agent = createAgent({
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      connect: withCorrectedParser(createConnector(clock)),
    });
  }

  /** Ends all streams. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Follows the lines that fit a query in all other processes, or in that of its router; returns the function that ends it. */
  follow(content: WebContent, query: RecordQuery, listener: PeerListener): () => void {
    const follower: Follower = { content, query, listener, followed: new Map(), away: new Set() };
    let timer: Timer | undefined;
    const check = () => {
      this.#followWanted(follower);
      timer = this.#clock.setTimer(CHECK_MS, check);
    };
    if (content.describeShards()) check();
    return () => {
      timer?.cancel();
      for (const { end } of follower.followed.values()) end.abort();
    };
  }

  /** Begins with processes that are new, and ends with those that are not wanted any more. */
  #followWanted(follower: Follower): void {
    const { content, query, followed } = follower;
    const shards = content.describeShards();
    const owner = findOwner(content, shards, query.router);
    const wanted = new Map<string, string | undefined>();
    for (const [shard, url] of shards?.peers.entries() ?? []) {
      if (shard === shards?.index || (owner !== undefined && owner !== shard)) continue;
      wanted.set(toProcessKey(shards ?? {}, shard), url);
    }
    for (const [key, { url, end }] of followed) {
      if (wanted.has(key) && wanted.get(key) === url) continue;
      end.abort();
      followed.delete(key);
      setAway(follower, key, false);
    }
    for (const [key, url] of wanted) {
      if (followed.has(key)) continue;
      const end = new AbortController();
      followed.set(key, { url, end });
      void this.#keepOpen(follower, key, url, end.signal);
    }
  }

  /** Reads the stream of a process, and opens it again when it has ended, until `signal` aborts. */
  async #keepOpen(follower: Follower, key: string, url: string | undefined, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leave = this.#places.enter();
      const beganMs = this.#clock.monotonic();
      try {
        if (leave && url !== undefined) await this.#read(follower, key, url, signal);
      } catch {
        // The page of the lines tells why: it asks the same process.
      } finally {
        leave?.();
      }
      if (signal.aborted) return;
      if (this.#clock.monotonic() - beganMs >= WHOLE_MS) continue;
      setAway(follower, key, true);
      await this.#clock.sleep(RETRY_MS, signal).catch(() => {});
    }
  }

  async #read(follower: Follower, key: string, url: string, signal: AbortSignal): Promise<void> {
    const { content, query, listener } = follower;
    const headers = { accept: 'text/event-stream', ...renderCredentials(content.describeShards() ?? {}) };
    const stream = `${url}/api/v1/records/stream?own=1&${renderRecordQuery(query)}`;
    for await (const { name, data } of readEvents(
      { agent: this.#agent, clock: this.#clock, url: stream, headers },
      signal,
    )) {
      if (name === 'open') setAway(follower, key, false);
      else if (name === 'skipped') listener.lines([], Math.max(0, Math.trunc(Number(data)) || 0));
      else if (name === 'line') {
        const line = decodeLine(parseJson(data));
        const shards = content.describeShards();
        if (line && isOwnedBy(shards, findProcess(shards, key))(line)) listener.lines([line], 0);
      }
    }
  }
}

/** Notes whether the lines of a process are missing, and tells the reader of a change. */
function setAway({ content, away, listener }: Follower, key: string, isAway: boolean): void {
  if (away.has(key) === isAway) return;
  if (isAway) away.add(key);
  else away.delete(key);
  const shards = content.describeShards();
  const indices = [...away].map((one) => findProcess(shards, one)).filter((shard) => shard !== undefined);
  listener.away(indices.toSorted((a, b) => a - b).map((shard) => nameProcess(shards ?? {}, shard)));
}
