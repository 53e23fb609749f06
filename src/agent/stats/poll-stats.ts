import { createNumbers, renderErrorChain } from '../../base/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import { type Labels, type RouterIdentity, SourceError } from '../../model/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import type { PollFault, PollPoint, PollStep, PollSummary, ResourceSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import { toPart } from '../views/router-values.ts';

/** What went wrong in a poll. */
interface PollProblem {
  /** Reason why it did not reach the router. */
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  /** First failure, also if the router was reached. */
  readonly fault: PollFault | undefined;
}

interface Poll extends PollProblem {
  /** Start: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
}

const NO_PROBLEM: PollProblem = { failure: undefined, fault: undefined };

interface PollSample {
  /** Start: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly isOk: boolean;
  /** The longest lag of the logs; `undefined` when there is none. */
  readonly lagMs: number | undefined;
}

/** Recent polls kept, whatever their result. */
const RECENT_MAX = 12;
/** Failed polls kept beyond those, so that a failure at night can still be seen in the morning. */
const FAILED_MAX = 12;
/** Partial failures are counted apart, so that one broken resource cannot evict real outages. */
const PARTIAL_MAX = 4;

/** An hour at the usual interval: 1,020 bytes for each router. */
const SAMPLES_MAX = 60;

/** The last polls of a router; those that failed are kept longer. */
export class PollHistory {
  /** Start and duration of the recent polls, one after the other, the newest first: numbers in an array are packed. */
  #times: readonly number[] = [];
  /** What went wrong in each of them. */
  #problems: readonly PollProblem[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  add({ atMs, durationMs, failure, fault }: Poll): void {
    const oldest = this.#listRecent()[RECENT_MAX - 1];
    if (oldest?.failure) keep(this.#failed, oldest, FAILED_MAX);
    else if (oldest?.fault) keep(this.#partial, oldest, PARTIAL_MAX);
    const problem = failure || fault ? { failure, fault } : NO_PROBLEM;
    this.#times = [atMs, durationMs].concat(this.#times.slice(0, 2 * (RECENT_MAX - 1)));
    this.#problems = [problem].concat(this.#problems.slice(0, RECENT_MAX - 1));
  }

  #listRecent(): readonly Poll[] {
    return this.#problems.map((problem, index) => ({
      atMs: this.#times[2 * index] ?? 0,
      durationMs: this.#times[2 * index + 1] ?? 0,
      ...problem,
    }));
  }

  /** The newest first. */
  describe(): readonly PollSummary[] {
    const kept = [...this.#failed, ...this.#partial].toSorted((a, b) => b.atMs - a.atMs);
    return [...this.#listRecent(), ...kept].map(({ atMs, durationMs, failure, fault }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
      fault: fault ?? null,
    }));
  }
}

function keep(polls: Poll[], poll: Poll, max: number): void {
  polls.unshift(poll);
  if (polls.length > max) polls.pop();
}

/** Durations and lags of the last polls of a router, for plots; in columns of numbers, because a fleet has ten thousand of these. */
export class PollSamples {
  readonly #atMs = createNumbers(Float64Array, SAMPLES_MAX);
  readonly #durationsMs = createNumbers(Float32Array, SAMPLES_MAX);
  /** 1 if the poll succeeded. */
  readonly #isOk = createNumbers(Uint8Array, SAMPLES_MAX);
  /** NaN if there was none. */
  readonly #lagsMs = createNumbers(Float32Array, SAMPLES_MAX);
  #count = 0;

  add({ atMs, durationMs, isOk, lagMs }: PollSample): void {
    const slot = this.#count % SAMPLES_MAX;
    this.#atMs[slot] = atMs;
    this.#durationsMs[slot] = durationMs;
    this.#isOk[slot] = Number(isOk);
    this.#lagsMs[slot] = lagMs ?? Number.NaN;
    this.#count++;
  }

  /** The oldest first. */
  describe(): readonly PollPoint[] {
    const first = Math.max(0, this.#count - SAMPLES_MAX);
    return Array.from({ length: this.#count - first }, (_, index) => {
      const slot = (first + index) % SAMPLES_MAX;
      const lagMs = this.#lagsMs[slot] ?? Number.NaN;
      return {
        at: new Date(this.#atMs[slot] ?? 0).toISOString(),
        durationSeconds: Math.round(this.#durationsMs[slot] ?? 0) / 1000,
        ok: this.#isOk[slot] === 1,
        logLagSeconds: Number.isNaN(lagMs) ? null : Math.round(lagMs) / 1000,
      };
    });
  }
}

type State = ResourceSummary['state'];

/** What is the same for a resource of every router. */
interface SharedResource {
  /** Labels of all series about it. */
  readonly labels: Labels;
  /** Part of the exposition with its values. */
  readonly part: string;
}

/** By the name of the resource: the modules name them, and not the routers. */
const sharedResources = new Map<string, SharedResource>();

function shareResource(name: string): SharedResource {
  const known = sharedResources.get(name);
  if (known) return known;
  const shared = { labels: { resource: name }, part: toPart(name) };
  sharedResources.set(name, shared);
  return shared;
}

interface Resource {
  readonly labels: SharedResource['labels'];
  state: State;
  /** Time at which its values were last read, on the monotonic clock. */
  readAtMs: number | undefined;
  durationMs: number | undefined;
  error: string | null;
  finding: string | null;
  /** True if its answer has values of which none became a series. */
  isUnread: boolean;
  /** True if its absence counts as a failure. */
  isRequired: boolean;
}

/** State of each resource of a router, and its series. */
export class ResourceStats {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #resources = new Map<string, Resource>();
  /** True if the series about the states are not as they were published. */
  #isChanged = false;
  /** Capabilities that the last poll reported. */
  #capabilities: PollResult['capabilities'] | undefined;

  constructor(router: RouterIdentity, exposition: FleetExposition) {
    this.#router = router;
    this.#exposition = exposition;
  }

  /** Records a poll, including the values it read. */
  record({ resources, withdrawn, capabilities }: PollResult): void {
    for (const {
      name,
      state,
      isUnchanged,
      families,
      faults,
      isUnread,
      durationMs,
      readAtMs,
      isOptional,
      isIdentity,
      staleAfterMs,
      error,
    } of resources) {
      const { part } = shareResource(name);
      const kept = this.#resourceOf(name);
      kept.durationMs = durationMs;
      kept.error = state === 'failed' ? renderErrorChain(error) : null;
      kept.finding = state === 'read' ? describeReading({ isUnread, faults }) : null;
      this.#change(kept, { state: state === 'read' ? 'up' : state, isUnread, isRequired: !isOptional });
      if (state === 'read') {
        this.#isChanged ||= kept.readAtMs === undefined;
        kept.readAtMs = readAtMs;
        const end = isIdentity ? 'never' : readAtMs + staleAfterMs;
        const dropped = faults.filter(({ reason }) => reason === 'duplicate').length;
        if (isUnchanged) this.#exposition.renewValues(this.#router, part, end);
        else this.#exposition.publishValues(this.#router, part, families, end, dropped);
      } else if (state !== 'failed') {
        this.#isChanged ||= kept.readAtMs !== undefined;
        kept.readAtMs = undefined;
        this.#exposition.publishValues(this.#router, part, [], 'never');
      }
    }
    for (const name of withdrawn) {
      if (this.#resources.delete(name)) this.#isChanged = true;
      this.#exposition.publishValues(this.#router, shareResource(name).part, [], 'never');
    }
    const isLacking = resources.some(({ state }) => state === 'unsupported');
    if (isLacking || capabilities !== this.#capabilities) this.#recordCapabilities(capabilities);
    this.#publish();
  }

  /** Returns true if all values of a resource's last answer can be served. */
  holdsValues(name: string): boolean {
    return this.#exposition.isWhole(this.#router, shareResource(name).part);
  }

  /** Records the state of something that is not a status resource. */
  recordOther(name: string, state: State, error: string | null): void {
    const kept = this.#resourceOf(name);
    kept.error = error;
    // Rarely a change after a run over the logs; the error is not part of the series.
    this.#change(kept, { ...kept, state });
    this.#publish();
  }

  /** Everything in the order in which it was first seen; `nowMs` is monotonic. */
  describe(nowMs: number): readonly ResourceSummary[] {
    return [...this.#resources].map(([resource, { state, readAtMs, durationMs, error, finding }]) => ({
      resource,
      state,
      ageSeconds: readAtMs === undefined ? null : (nowMs - readAtMs) / 1000,
      durationSeconds: durationMs === undefined ? null : durationMs / 1000,
      error,
      finding,
    }));
  }

  #recordCapabilities(capabilities: PollResult['capabilities']): void {
    this.#capabilities = capabilities;
    // Slots that do not exist are listed under their pattern only.
    const known = new Set(capabilities.map(({ resource }) => resource));
    for (const [name, { state }] of this.#resources) {
      if (state !== 'unsupported' || known.has(name)) continue;
      this.#resources.delete(name);
      this.#isChanged = true;
    }
    for (const { resource, isSupported, isOptional } of capabilities) {
      if (isSupported || this.#resources.has(resource)) continue;
      const kept = this.#resourceOf(resource);
      this.#change(kept, { state: 'unsupported', isUnread: false, isRequired: !isOptional });
    }
  }

  #change(
    resource: Resource,
    { state, isUnread, isRequired }: Pick<Resource, 'state' | 'isUnread' | 'isRequired'>,
  ): void {
    this.#isChanged ||=
      resource.state !== state || resource.isUnread !== isUnread || resource.isRequired !== isRequired;
    Object.assign(resource, { state, isUnread, isRequired });
  }

  #resourceOf(name: string): Resource {
    const known = this.#resources.get(name);
    if (known) return known;
    const resource: Resource = {
      labels: shareResource(name).labels,
      state: 'failed',
      readAtMs: undefined,
      durationMs: undefined,
      error: null,
      finding: null,
      isUnread: false,
      isRequired: true,
    };
    this.#resources.set(name, resource);
    this.#isChanged = true;
    return resource;
  }

  /** Publishes what rarely changes, when it does. Ages and durations are read at each scrape. */
  #publish(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const samples: Record<'up' | 'supported' | 'permitted' | 'understood', [Labels, number][]> = {
      up: [],
      supported: [],
      permitted: [],
      understood: [],
    };
    const resources = [...this.#resources.values()];
    for (const { labels, state, readAtMs, isUnread, isRequired } of resources) {
      const isUp = state === 'up';
      samples.supported.push([labels, state === 'unsupported' ? 0 : 1]);
      samples.permitted.push([labels, state === 'forbidden' ? 0 : 1]);
      // Optional resources are no failures, nor are forbidden ones, which have their own series.
      if (state !== 'forbidden' && (state !== 'unsupported' || isRequired)) samples.up.push([labels, isUp ? 1 : 0]);
      // Logs and the resources of special readers have no values to map.
      if (isUp && readAtMs !== undefined) samples.understood.push([labels, isUnread ? 0 : 1]);
    }
    this.#exposition.publish(this.#router, 'resources', [
      toFamily(F.resourceUp, samples.up),
      toFamily(F.resourceSupported, samples.supported),
      toFamily(F.resourcePermitted, samples.permitted),
      toFamily(F.resourceUnderstood, samples.understood),
    ]);
    this.#exposition.publishLive(this.#router, resources, [
      [F.resourceDuration, toDurationSeconds],
      [F.resourceAge, toAgeSeconds],
    ]);
  }
}

function toDurationSeconds({ state, durationMs }: Resource): number | undefined {
  return (state === 'up' || state === 'failed') && durationMs !== undefined ? durationMs / 1000 : undefined;
}

function toAgeSeconds({ readAtMs }: Resource, nowMs: number): number | undefined {
  return readAtMs === undefined ? undefined : (nowMs - readAtMs) / 1000;
}

/** Describes unexpected content of an answer; `null` if there is none. */
export function describeReading({ isUnread, faults }: Pick<ResourceResult, 'isUnread' | 'faults'>): string | null {
  if (isUnread) return 'answered, but no metric could be read from it';
  if (faults.length === 0) return null;
  return faults.length === 1 ? '1 value could not be read' : `${faults.length} values could not be read`;
}

/** Facts about a failed poll, besides its error. */
export interface PollFacts {
  /** True if the error is that of a login. */
  readonly isLogin: boolean;
  /** True if the router is reached over TLS. */
  readonly isTls: boolean;
  /** True if the previous poll failed as well, so that no connection was kept. */
  readonly isRepeated: boolean;
  /** Bytes on the wire in this poll. */
  readonly sent: number;
  readonly received: number;
}

/** Returns the connection step at which a poll, or one resource of it, failed with `error`. */
export function findStep(error: unknown, { isLogin, isTls, isRepeated, sent, received }: PollFacts): PollStep {
  const failure = error instanceof SourceError ? error : undefined;
  // Something was sent on a new connection, which can only be the TLS handshake: TCP was connected.
  const isGreetingUnanswered = isTls && isRepeated && sent > 0 && received === 0;
  const asked = isLogin ? 'login' : 'resource';
  switch (failure?.code) {
    case 'dns':
    case 'tls':
      return failure.code;
    case 'connect':
      if (isGreetingUnanswered) return 'tls';
      // Without TLS, what was sent is a request, so TCP was connected.
      return !isTls && sent > 0 && !failure.isUnsent ? asked : 'tcp';
    case 'timeout':
      // The time-out may belong to an earlier step than the one that was waited for.
      if (sent === 0 && received === 0) return 'tcp';
      return isGreetingUnanswered ? 'tls' : asked;
    case 'auth':
      return !isLogin && failure.isAnswered ? 'resource' : 'login';
    case 'parse':
      return isLogin ? 'login' : 'parse';
    default:
      return asked;
  }
}
