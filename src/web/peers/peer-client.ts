import type { Agent } from 'undici';
import { type Clock, openDeadline, renderErrorChain, type Timer } from '../../base/index.ts';
import { createConnector, createOneConnectionAgent, requestBounded } from '../../net/index.ts';
import type { FleetShards } from '../content.ts';

/** A process of the fleet that does not answer, so that a page or list lacks what it has. */
export interface PeerFault {
  /** Index of the process. */
  readonly shard: number;
  /** Its name, if it is a replica of a cluster. */
  readonly name?: string;
  /** Its base URL; empty if it has none. */
  readonly url: string;
  /** Number of its routers. */
  readonly routers: number;
  /** Reason of the failure. */
  readonly error: string;
}

/** Answers of the other processes. */
export interface PeerAnswers<T> {
  /** By the index of the process; those that did not answer are left out. */
  readonly answers: ReadonlyMap<number, T>;
  /** Those that did not answer. */
  readonly faults: readonly PeerFault[];
}

/** A question to other processes. */
export interface Question<T> {
  /** Path and query below the base URL of a process. */
  readonly path: string;
  /** Turns the answer of a process, as text, into a value; `undefined` when it makes no sense. What it throws is a fault. */
  readonly decode: (answer: string, shard: number) => T | undefined | Promise<T | undefined>;
  /** True if several requests may share an answer for some seconds. */
  readonly isKept: boolean;
  /** Index of the only process to ask. Default: all. */
  readonly only?: number | undefined;
  /** Longest answer. Default: 4 MiB. Bytes. */
  readonly bytesMax?: number;
  /** Value for a process that does not know the path or has nothing there. Default: a fault. */
  readonly missing?: T;
}

type PeerAnswer<T> = { readonly value: T } | { readonly error: string };

/** A person who reloads a page wants newer values than these. Milliseconds. */
const FRESH_MS = 5000;
/** Answers and connections are kept this long after somebody looked. Milliseconds. */
const KEPT_MS = 60_000;
/** A page or reader waits this long for the other processes. Milliseconds. */
export const ANSWER_MS_MAX = 3000;
/** The answer of a question: 500 lines of log, or 361 minutes, take less. It is parsed at once. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** A list that is parsed line by line, with breaks: 10,000 routers take about 14 MB. */
export const LIST_BYTES_MAX = 64 * 1024 * 1024;
/** Processes that are asked at the same time for one page. */
const ASKED_MAX = 16;

/** Fault of a process without an address. */
export const NO_ADDRESS = 'Its address is not known: set cluster.nats.advertise there';

/** Headers of a request to another process: it accepts a token that this one accepts. */
export function renderCredentials({ token }: Pick<FleetShards, 'token'>): Readonly<Record<string, string>> {
  return token ? { authorization: `Bearer ${token.reveal()}` } : {};
}

/** Explains the status of a refusal by another process; `undefined` for an answer with content. */
export function explainStatus(status: number): string | undefined {
  if (status === 200) return undefined;
  if (status === 401 || status === 403) {
    return 'It refuses this process: add a token with role read to web.access.tokens of the configuration';
  }
  return status === 404
    ? 'It does not know this request: it runs another version'
    : `It answered with status ${status}`;
}

/** Describes a process that does not answer. */
export function toFault({ peers, names, others }: FleetShards, shard: number, error: string): PeerFault {
  const name = names?.[shard];
  const routers = [...others.values()].filter((router) => router.shard === shard).length;
  return { shard, ...(name !== undefined && { name }), url: peers[shard] ?? '', routers, error };
}

/** Asks the other processes of the fleet. Each has one connection, and a few seconds for each answer. */
export class PeerClient {
  readonly #clock: Clock;
  readonly #agent: Agent;
  /** By URL and path. */
  readonly #kept = new Map<string, { readonly atMs: number; readonly answer: Promise<PeerAnswer<unknown>> }>();
  #unwatched: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#agent = createOneConnectionAgent({ keepAliveMs: KEPT_MS, connect: createConnector(clock) });
  }

  /** Asks all other processes, or one. Does not throw. */
  async ask<T>(shards: FleetShards | undefined, question: Question<T>): Promise<PeerAnswers<T>> {
    if (!shards || shards.peers.length === 0) return { answers: new Map(), faults: [] };
    this.#forgetOthers(shards.peers);
    const answers = new Map<number, T>();
    const faults: PeerFault[] = [];
    const left = shards.peers.flatMap((url, shard) => {
      const isAsked = question.only === undefined ? shard !== shards.index : shard === question.only;
      return isAsked ? [{ url, shard }] : [];
    });
    const askNext = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const { url, shard } = next;
        const answer = url === undefined ? { error: NO_ADDRESS } : await this.#askOnce(url, shard, shards, question);
        if ('value' in answer) answers.set(shard, answer.value);
        else faults.push(toFault(shards, shard, answer.error));
      }
    };
    await Promise.all(Array.from({ length: ASKED_MAX }, askNext));
    return { answers, faults: faults.toSorted((a, b) => a.shard - b.shard) };
  }

  /** Cancels the timer and closes the connections. */
  async close(): Promise<void> {
    this.#unwatched?.cancel();
    await this.#agent.destroy();
  }

  /** Drops the answers of processes that are not configured any more, and all of them when nobody looks for a while. */
  #forgetOthers(peers: FleetShards['peers']): void {
    for (const key of this.#kept.keys()) if (!peers.includes(key.slice(0, key.indexOf(' ')))) this.#kept.delete(key);
    this.#unwatched?.cancel();
    this.#unwatched = this.#clock.setTimer(KEPT_MS, () => this.#kept.clear());
  }

  /** Asks a process, unless an answer that may be shared is young enough or on its way. */
  #askOnce<T>(url: string, shard: number, shards: FleetShards, question: Question<T>): Promise<PeerAnswer<T>> {
    const key = `${url} ${question.path}`;
    const nowMs = this.#clock.monotonic();
    const known = question.isKept ? this.#kept.get(key) : undefined;
    // One path always has the same type of answer.
    if (known && nowMs - known.atMs < FRESH_MS) return known.answer as Promise<PeerAnswer<T>>;
    const answer = this.#send(url, shard, shards, question).catch((cause: unknown) => ({
      error: renderErrorChain(cause),
    }));
    if (question.isKept) this.#kept.set(key, { atMs: nowMs, answer });
    return answer;
  }

  async #send<T>(url: string, shard: number, shards: FleetShards, question: Question<T>): Promise<PeerAnswer<T>> {
    using deadline = openDeadline(this.#clock, ANSWER_MS_MAX);
    const { bytesMax = ANSWER_BYTES_MAX } = question;
    const { status, bytes, isCut } = await requestBounded({
      agent: this.#agent,
      url: `${url}${question.path}`,
      accept: 'application/json',
      headers: renderCredentials(shards),
      bytesMax,
      signal: deadline.signal,
    });
    if (status === 404 && question.missing !== undefined) return { value: question.missing };
    const refusal = explainStatus(status);
    if (refusal !== undefined) return { error: refusal };
    if (isCut) return { error: `Its answer is longer than ${bytesMax} bytes` };
    const value = await question.decode(bytes.toString('utf8'), shard);
    return value === undefined ? { error: 'Its response is invalid; it may run another version' } : { value };
  }
}
