import { type Clock, openDeadline, renderErrorChain, Steps, type Timer } from '../base/index.ts';
import { LIFECYCLE_STATES } from '../model/index.ts';
import { createOneConnectionAgent, isPlainObject, readString, requestBounded } from '../net/index.ts';
import {
  type DeviceSummary,
  type LifecycleSummary,
  NO_DEVICE,
  POLL_STEPS,
  type PollFault,
  type PollStep,
  type RouterSummary,
} from './api/routers.ts';
import type { FleetShards, ForeignRouter, WebContent } from './content.ts';

/** A process of the fleet whose routers cannot be shown as they are. */
export interface PeerFault {
  /** Index of the process. */
  readonly shard: number;
  /** Its name, if it is a replica of a cluster. */
  readonly name?: string;
  /** Its base URL; empty if it has none. */
  readonly url: string;
  /** Number of its routers. */
  readonly routers: number;
  /** What stood in the way. */
  readonly error: string;
}

/** The routers of all processes. */
export interface WholeFleet extends Pick<WebContent, 'listRouters' | 'findRouter'> {
  /** Processes that did not answer; their routers are listed with the state `unknown`. */
  readonly faults: readonly PeerFault[];
}

/** What a process last answered, or why it did not. */
type PeerAnswer = { readonly routers: ReadonlyMap<string, RouterSummary> } | { readonly error: string };

/** A person who reloads a page wants newer values than these. Milliseconds. */
const FRESH_MS = 5000;
/** Answers and connections are kept this long after somebody looked. Milliseconds. */
const KEPT_MS = 60_000;
/** A page waits this long for the other processes. Milliseconds. */
const ANSWER_MS_MAX = 3000;
/** 10,000 routers take about 12 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Processes that are asked at the same time. */
const ASKED_MAX = 16;
const NO_ADDRESS: PeerAnswer = { error: 'Its address is not known: set cluster.nats.advertise there' };
const STATES = ['up', 'down', 'unknown', 'budget', 'paused', 'retired'] as const;
const SETTERS = ['configuration', 'request', 'default'] as const;
const SIGNALS = ['rsrp', 'rssi', 'csq'] as const;

/**
 * Collects the routers of the other processes for pages and JSON. Each process is asked at most every five seconds, and
 * only while somebody looks. What it says about a router is taken only if that router is one of its own.
 */
export class PeerFleet {
  readonly #clock: Clock;
  readonly #agent = createOneConnectionAgent({ keepAliveMs: KEPT_MS, connect: {} });
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: Promise<PeerAnswer> }>();

  #unwatched: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the routers of this process and of all others whose addresses are configured. */
  async collect(content: WebContent): Promise<WholeFleet> {
    const shards = content.describeShards();
    if (!shards || shards.peers.length === 0) return withoutPeers(content);
    this.#forgetOthers(shards.peers);
    const answers = await this.#askAll(shards);
    const faults = [...answers].flatMap(([shard, answer]): PeerFault[] => {
      if (!('error' in answer)) return [];
      const routers = [...shards.others.values()].filter((router) => router.shard === shard).length;
      const name = shards.names?.[shard];
      return [
        { shard, ...(name !== undefined && { name }), url: shards.peers[shard] ?? '', routers, error: answer.error },
      ];
    });
    const describe = (router: ForeignRouter) => {
      const answer = answers.get(router.shard);
      return (answer && 'routers' in answer ? answer.routers.get(router.name) : undefined) ?? toUnknown(router);
    };
    return {
      faults,
      *listRouters() {
        yield* content.listRouters();
        // While a configuration is loaded again, a router may still be listed as that of another process.
        for (const router of shards.others.values()) if (!content.hasRouter(router.name)) yield describe(router);
      },
      findRouter(name) {
        const other = shards.others.get(name);
        return content.findRouter(name) ?? (other && describe(other));
      },
    };
  }

  /** Drops the answers of processes that are not configured any more, and all of them when nobody looks for a while. */
  #forgetOthers(peers: FleetShards['peers']): void {
    for (const url of this.#answers.keys()) if (!peers.includes(url)) this.#answers.delete(url);
    this.#unwatched?.cancel();
    this.#unwatched = this.#clock.setTimer(KEPT_MS, () => this.#answers.clear());
  }

  async close(): Promise<void> {
    this.#unwatched?.cancel();
    await this.#agent.destroy();
  }

  async #askAll(shards: FleetShards): Promise<ReadonlyMap<number, PeerAnswer>> {
    const answers = new Map<number, PeerAnswer>();
    const left = shards.peers.flatMap((url, shard) => (shard === shards.index ? [] : [{ url, shard }]));
    const askNext = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const { url, shard } = next;
        answers.set(shard, url === undefined ? NO_ADDRESS : await this.#askOnce(url, shard, shards));
      }
    };
    await Promise.all(Array.from({ length: ASKED_MAX }, askNext));
    return answers;
  }

  /** Asks a process, unless its last answer is young enough or on its way. */
  #askOnce(url: string, shard: number, shards: FleetShards): Promise<PeerAnswer> {
    const nowMs = this.#clock.monotonic();
    const known = this.#answers.get(url);
    if (known && nowMs - known.atMs < FRESH_MS) return known.answer;
    const answer = this.#ask(url, shard, shards).catch((cause: unknown) => ({ error: renderErrorChain(cause) }));
    this.#answers.set(url, { atMs: nowMs, answer });
    return answer;
  }

  async #ask(url: string, shard: number, { others, token }: FleetShards): Promise<PeerAnswer> {
    using deadline = openDeadline(this.#clock, ANSWER_MS_MAX);
    const { status, bytes, isCut } = await requestBounded({
      agent: this.#agent,
      url: `${url}/api/v1/routers?own=1`,
      accept: 'application/json',
      headers: token && { authorization: `Bearer ${token.reveal()}` },
      bytesMax: ANSWER_BYTES_MAX,
      signal: deadline.signal,
    });
    if (status === 401 || status === 403) {
      return { error: 'It refuses this process: add a token with role read to web.access.tokens of the configuration' };
    }
    if (status !== 200) return { error: `It answered with status ${status}` };
    if (isCut) return { error: `Its answer is longer than ${ANSWER_BYTES_MAX} bytes` };
    const parsed: unknown = JSON.parse(bytes.toString('utf8'));
    const list = isPlainObject(parsed) ? parsed['routers'] : undefined;
    if (!Array.isArray(list)) return { error: 'Its answer has no list of routers' };
    const steps = new Steps();
    const routers = new Map<string, RouterSummary>();
    for (const value of list) {
      const other = isPlainObject(value) ? others.get(readString(value, 'name') ?? '') : undefined;
      if (other?.shard === shard) routers.set(other.name, decodeSummary(value, other));
      if (steps.isDue) await steps.next();
    }
    return { routers };
  }
}

function withoutPeers(content: WebContent): WholeFleet {
  return {
    faults: [],
    listRouters: () => content.listRouters(),
    findRouter: (name) => content.findRouter(name),
  };
}

const ACTIVE: LifecycleSummary = { state: 'active', until: null, setBy: 'default' };

function toUnknown({ name, url, labels }: ForeignRouter): RouterSummary {
  return {
    name,
    url,
    labels,
    state: 'unknown',
    lifecycle: ACTIVE,
    since: null,
    isStale: false,
    lastSuccess: null,
    retryAfter: null,
    failure: null,
    fault: null,
    consecutiveFailures: 0,
    durationSeconds: null,
    logLagSeconds: null,
    bytesToday: 0,
    byteBudget: null,
    firmware: null,
    device: NO_DEVICE,
  };
}

/** Reads what a process says about a router; it may run another version. Name, URL and labels are those of the configuration here. */
function decodeSummary(value: unknown, other: ForeignRouter): RouterSummary {
  const unknown = toUnknown(other);
  if (!isPlainObject(value)) return unknown;
  const toText = (name: string) => readString(value, name) ?? null;
  const toNumber = (name: string) => readNumber(value[name]);
  const failure = isPlainObject(value['failure']) ? value['failure'] : undefined;
  return {
    ...unknown,
    state: STATES.find((state) => state === value['state']) ?? 'unknown',
    lifecycle: decodeLifecycle(value['lifecycle']),
    since: toText('since'),
    isStale: value['isStale'] === true,
    lastSuccess: toText('lastSuccess'),
    retryAfter: toText('retryAfter'),
    failure: failure
      ? {
          reason: readString(failure, 'reason') ?? '',
          step: readStep(failure['step']) ?? null,
          error: readString(failure, 'error') ?? '',
        }
      : null,
    fault: decodeFault(value['fault']),
    consecutiveFailures: toNumber('consecutiveFailures') ?? 0,
    durationSeconds: toNumber('durationSeconds'),
    logLagSeconds: toNumber('logLagSeconds'),
    bytesToday: toNumber('bytesToday') ?? 0,
    byteBudget: toNumber('byteBudget'),
    firmware: toText('firmware'),
    device: decodeDevice(value['device']),
  };
}

function decodeFault(value: unknown): PollFault | null {
  const step = isPlainObject(value) ? readStep(value['step']) : undefined;
  if (!step || !isPlainObject(value)) return null;
  return { step, resource: readString(value, 'resource') ?? null, error: readString(value, 'error') ?? '' };
}

function decodeLifecycle(value: unknown): LifecycleSummary {
  const state = isPlainObject(value) ? LIFECYCLE_STATES.find((one) => one === value['state']) : undefined;
  if (!state || !isPlainObject(value)) return ACTIVE;
  const setBy = SETTERS.find((one) => one === value['setBy']) ?? 'default';
  return { state, until: readString(value, 'until') ?? null, setBy };
}

function decodeDevice(value: unknown): DeviceSummary {
  if (!isPlainObject(value)) return NO_DEVICE;
  const toText = (name: string) => readString(value, name) ?? null;
  const signal = isPlainObject(value['signal']) ? value['signal'] : undefined;
  const kind = SIGNALS.find((one) => one === signal?.['kind']);
  const strength = readNumber(signal?.['value']);
  return {
    model: toText('model'),
    location: toText('location'),
    operator: toText('operator'),
    technology: toText('technology'),
    signal: kind && strength !== null ? { kind, value: strength } : null,
    wan: toText('wan'),
    uptimeSeconds: readNumber(value['uptimeSeconds']),
  };
}

function readStep(value: unknown): PollStep | undefined {
  return POLL_STEPS.find((step) => step === value);
}

function readNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
