import { type Clock, type Deadline, openDeadline } from '../base/index.ts';
import type { DocumentSource } from './contracts.ts';
import { KnownDevice, readSystemHash } from './known-fields.ts';
import type { CompiledJoin } from './mapping/join.ts';
import type { ModuleDefinition } from './module-settings/module-definition.ts';
import { createPollPlan, type PollPlan, type PollTarget, PROBE, type StatusReaders } from './poll-plan.ts';
import type { PollResult, ResourceCapability, ResourceResult } from './poll-result.ts';
import { parseState, renderState } from './poller-state.ts';
import { readTarget, type TargetReading } from './read-target.ts';
import { EXPIRED_ROWS, type JoinRows, TargetAnswers } from './target-answers.ts';
import { CapabilityMemory, listCapabilities, TargetTimers } from './target-memory.ts';

/** One router, its modules and what was learnt of it. */
export interface StatusPollerOptions {
  /** Modules to read, already checked. */
  readonly modules: readonly ModuleDefinition[];
  /** Reads documents from the router. */
  readonly source: DocumentSource;
  /** Readers by name; modules whose reader is missing are left out. Default: none. */
  readonly readers?: StatusReaders | undefined;
  /** Clock for due times (monotonic) and the time of reading (wall). */
  readonly clock: Clock;
  /** Default interval of modules, in milliseconds. */
  readonly intervalMs: number;
  /** Time limit of one poll, in milliseconds. */
  readonly deadlineMs: number;
  /** Minimum time for which values are served without being renewed, in milliseconds. */
  readonly staleAfterMs: number;
  /** IANA name of the router's zone; `undefined` if unknown. */
  readonly zone: string | undefined;
  /** State of an earlier poller of this router ({@link StatusPoller.takeState}). Default: none. */
  readonly previous?: string | undefined;
}

/** Status resource with the hash of the configuration. */
const SYSTEM = 'sysdetail/system';

/** Deadline and extent of one poll. */
export interface PollOptions {
  /**
   * Factor for intervals, to save bytes: of slow modules (slower than the router's status, or than the fastest module if none
   * is as fast as that) and of the others. Up to 1 has no effect, `Infinity` skips them. Default 1. A larger factor than at the
   * last reading lets no values expire, unless {@link mayExpire}: they are read once more before.
   */
  readonly intervalMultiplier?: ((isSlow: boolean) => number) | undefined;
  /**
   * Most resources with a longer interval than the router's status in one poll; the others follow in the next, unless their
   * values would expire until then. Default: no limit.
   */
  readonly slowResourcesMax?: number | undefined;
  /** True to let values expire rather than read them before their interval is over, to save bytes. Default false. */
  readonly mayExpire?: boolean | undefined;
  /** True to read everything now, due or not. Default false. */
  readonly isFresh?: boolean | undefined;
  /** True to read one resource if none is due, to see if the router is alive. Default false. */
  readonly isSignWanted?: boolean | undefined;
  /**
   * Returns true if the caller still holds all values of a resource's last answer, so that an equal answer need not be mapped
   * again. Default: never.
   */
  readonly holdsValues?: ((resource: string) => boolean) | undefined;
}

/** A poll in progress. */
interface PollInProgress {
  readonly startedMs: number;
  readonly deadline: Deadline;
  readonly options: PollOptions;
  resources: ResourceResult[];
  withdrawn: readonly string[];
  readonly asked: Set<PollTarget>;
  /** Resources with a longer interval than the status that were asked for. */
  slowResources: number;
  isUp: boolean;
  isOver: boolean;
  /** The first failure. */
  failure: Setback | undefined;
  /** Names of resources refused in a way that may concern the account as a whole. */
  readonly unsure: Set<string>;
  /** The first refusal: a resource that the router does not have, or that this account may not read. */
  refusal: Setback | undefined;
}

/** Reason for a failed read: a code from the source's closed list, and the error. */
interface Setback {
  readonly code: string;
  readonly error: unknown;
}

/**
 * Reads the status of one router, poll by poll: everything that is due, one resource after the other. Remembers what
 * the router does not have, or does not let this account read, and rarely asks for it until the firmware changes. After
 * a failed poll, and on request, it reads the router's identity first.
 */
export class StatusPoller {
  readonly #options: StatusPollerOptions;
  readonly #plan: PollPlan;
  readonly #answers: TargetAnswers;
  readonly #timers: TargetTimers;
  readonly #memory: CapabilityMemory;
  /** The router that the memory is of. */
  readonly #device: KnownDevice;
  /** Memory and router that were handed out last. */
  #takenRevision = '';
  /** Increases when slow modules are read at another time than before. */
  #phaseChanges = 0;
  #listed: { readonly answers: number; readonly capabilities: readonly ResourceCapability[] } | undefined;
  #isUp = false;
  /** Resources withdrawn in polls that were given up. */
  #unreported: readonly string[] = [];
  #configHash: string | undefined;

  constructor(options: StatusPollerOptions) {
    this.#options = options;
    this.#plan = createPollPlan(options.modules, options.intervalMs, options.readers);
    this.#timers = new TargetTimers(this.#plan);
    this.#memory = new CapabilityMemory(this.#plan);
    this.#answers = new TargetAnswers(this.#plan);
    const known = parseState(options.previous);
    this.#device = new KnownDevice(known);
    // Nothing would say that it is another router by now.
    if (known.firmware === undefined && known.serial === undefined) return;
    const { clock } = options;
    for (const { resource, untilMs } of known.lacks) {
      if (this.#plan.names.has(resource)) this.#memory.restoreLack(resource, untilMs - clock.now(), clock.monotonic());
    }
    for (const { resource, intervalMs, phaseMs } of known.phases) {
      const target = this.#plan.targets.find((one) => one.name === resource && one.intervalMs === intervalMs);
      if (target) this.#timers.restorePhase(target.index, phaseMs);
    }
  }

  /**
   * Returns what the router is known to lack and when its slow modules are read, for the next poller of this router, if that has
   * changed since the last call. What it lacks holds until the router reports another firmware or serial number, and no longer than within one poller. Missing rights are
   * no part of it: who grants them restarts the agent to see the effect.
   */
  takeState(): string | undefined {
    const { firmware, serial } = this.#device.remembered;
    const changes = this.#memory.revision + this.#phaseChanges;
    const revision = JSON.stringify([changes, firmware, serial]);
    if (revision === this.#takenRevision || changes === 0) return undefined;
    this.#takenRevision = revision;
    const { clock } = this.#options;
    return renderState({
      firmware,
      serial,
      lacks: this.#memory.listLacks(clock.monotonic()).map(({ resource, leftMs }) => {
        return { resource, untilMs: Math.round(clock.now() + leftMs) };
      }),
      phases: this.#plan.targets.flatMap(({ name, intervalMs, index }) => {
        const phaseMs = this.#timers.phaseMs(index);
        return phaseMs === undefined ? [] : [{ resource: name, intervalMs, phaseMs: Math.floor(phaseMs) }];
      }),
    });
  }

  /** The interval at which polls are needed: the shortest interval of the modules. Milliseconds. */
  get tickMs(): number {
    return this.#plan.tickMs;
  }

  /**
   * Makes the identity due at once, also in a poll in progress: after a new login the router may be a different one.
   */
  renewIdentity(): void {
    for (const target of this.#plan.targets) if (target.isIdentity) this.#answers.outdated.add(target);
  }

  /**
   * Reads every resource that is due. A failed one does not affect the others; the poll ends early if the router is
   * unreachable, asks for requests to be delayed, or at the deadline. Rejects only with the signal's reason.
   */
  async pollOnce(signal: AbortSignal, options: PollOptions = {}): Promise<PollResult> {
    const { clock, deadlineMs } = this.#options;
    const startedMs = clock.monotonic();
    using deadline = openDeadline(clock, deadlineMs, signal);
    const poll: PollInProgress = {
      startedMs,
      deadline,
      options,
      resources: [],
      withdrawn: this.#unreported,
      asked: new Set(),
      slowResources: 0,
      unsure: new Set(),
      isUp: false,
      isOver: false,
      failure: undefined,
      refusal: undefined,
    };
    try {
      await this.#readDue(poll, signal);
      // After a login in between, the identity may have been read from another router.
      for (const target of this.#plan.targets) {
        if (!poll.isOver && poll.asked.size > 0 && this.#answers.outdated.has(target) && this.#isFor(target))
          await this.#read(target, poll, signal);
      }
    } catch (cause) {
      this.#forget(poll);
      throw cause;
    }
    this.#unreported = [];
    this.#judgeUnsure(poll);
    if (poll.asked.size === 0) return this.#toResult(poll, true);
    this.#isUp = poll.isUp;
    if (!poll.isUp) this.renewIdentity();
    return this.#toResult(poll, false);
  }

  /** Makes due again what a poll has read that was given up: nobody got its values. */
  #forget({ asked, withdrawn }: PollInProgress): void {
    for (const target of asked) {
      this.#timers.reset(target.index);
      this.#answers.hold(target, undefined);
    }
    this.#unreported = withdrawn;
  }

  async #readDue(poll: PollInProgress, signal: AbortSignal): Promise<void> {
    let refused: PollTarget | undefined;
    for (const target of this.#order()) {
      const isDue = this.#isDue(target, poll);
      const isTooMuch =
        poll.slowResources >= (poll.options.slowResourcesMax ?? Infinity) &&
        this.#isSpared(target, poll) &&
        !this.#isExpiring(target, poll);
      const isLeftOver = isDue && (poll.isOver || isTooMuch);
      if (isLeftOver) this.#answers.leftOver.add(target);
      else this.#answers.leftOver.delete(target);
      if (!isDue || isLeftOver) continue;
      if (this.#memory.mayAsk(target.name, poll.startedMs)) await this.#read(target, poll, signal);
      else refused ??= target;
    }
    const isWanted = poll.asked.size > 0 || refused !== undefined || poll.options.isSignWanted === true;
    if (poll.isUp || poll.isOver || !isWanted) return;
    // A poll that reads nothing is not a success. Reading one resource that the router is known to have distinguishes
    // an outage from a poll in which the few due resources failed or have long been refused.
    const readable = this.#plan.targets.find(
      (target) => !poll.asked.has(target) && this.#isReadable(target, poll.startedMs) && this.#isFor(target),
    );
    const witness = readable ?? (poll.asked.size === 0 ? refused : undefined);
    if (witness) await this.#read(witness, poll, signal);
  }

  /** Returns true for a resource that may wait for the next poll of a slow router. */
  #isSpared(target: PollTarget, { options }: PollInProgress): boolean {
    return !options.isFresh && !target.isIdentity && this.#isSlow(target);
  }

  /** Returns true if values would expire until the end of the next poll. */
  #isExpiring({ index }: PollTarget, { startedMs, options }: PollInProgress): boolean {
    if (options.mayExpire) return false;
    const waitMs = this.#plan.tickMs * Math.max(1, options.intervalMultiplier?.(false) ?? 1);
    return this.#timers.expiresBetween(index, startedMs, startedMs + waitMs + this.#options.deadlineMs);
  }

  /** If anything else was read, these resources were refused; otherwise the account was. */
  #judgeUnsure(poll: PollInProgress): void {
    if (poll.isUp) {
      for (const name of poll.unsure) this.#memory.record(name, 'forbidden', poll.startedMs);
    } else {
      poll.resources = poll.resources.map((one) => (poll.unsure.has(one.name) ? { ...one, state: 'failed' } : one));
    }
  }

  #isReadable({ name }: PollTarget, nowMs: number): boolean {
    return this.#memory.get(name) === 'readable' && this.#memory.mayAsk(name, nowMs);
  }

  /**
   * Identity first, then what the previous poll did not reach, the longest unread first, so that nothing behind a slow resource
   * waits forever.
   */
  #order(): readonly PollTarget[] {
    const identity: PollTarget[] = [];
    const leftOver: PollTarget[] = [];
    const others: PollTarget[] = [];
    for (const target of this.#plan.targets) {
      if (target.isIdentity) identity.push(target);
      else if (this.#answers.leftOver.has(target)) leftOver.push(target);
      else others.push(target);
    }
    // Of what was never read, the time is minus infinity.
    const order = (a: number, b: number) => (a < b ? -1 : Number(a > b));
    leftOver.sort((a, b) => order(this.#timers.lastMs(a.index), this.#timers.lastMs(b.index)));
    return [...identity, ...leftOver, ...others];
  }

  /** Returns true if a target, or any part of it, is for this router. */
  #isFor({ path, isConditional, resources, feeds }: PollTarget): boolean {
    if (!isConditional || path === PROBE) return true;
    return feeds.length > 0 || resources.some((resource) => resource.isFor(this.#device.facts));
  }

  /** Returns true if a target has to wait for another one whose rows it is joined with: its labels would change at once. */
  #isWaiting({ index, needs }: PollTarget, nowMs: number): boolean {
    return needs.some((need) => {
      const other = this.#plan.byPath.get(need);
      // Of two that are joined with each other, the first one does not wait.
      return other && other.index < index && !this.#answers.isAsked(other) && this.#memory.mayAsk(other.name, nowMs);
    });
  }

  #isDue(target: PollTarget, { options, startedMs }: PollInProgress): boolean {
    if (!this.#isFor(target) || this.#isWaiting(target, startedMs)) return false;
    if (options.isFresh || this.#answers.outdated.has(target)) return true;
    const multiplier = this.#multiplierOf(target, options);
    if (this.#timers.isDue(target.index, startedMs, multiplier)) return true;
    return !options.mayExpire && Number.isFinite(multiplier) && this.#timers.isRenewalDue(target.index, startedMs);
  }

  #multiplierOf(target: PollTarget, { intervalMultiplier }: PollOptions): number {
    return intervalMultiplier?.(this.#isSlow(target)) ?? 1;
  }

  /** Returns true for a slow module: see {@link PollOptions.intervalMultiplier}. */
  #isSlow({ intervalMs }: PollTarget): boolean {
    return intervalMs > Math.max(this.#options.intervalMs, this.#plan.tickMs);
  }

  async #read(target: PollTarget, poll: PollInProgress, signal: AbortSignal): Promise<void> {
    const { index } = target;
    const { source, readers, clock, zone } = this.#options;
    poll.asked.add(target);
    if (this.#isSpared(target, poll)) poll.slowResources++;
    const held = this.#answers.held(target);
    const previous = held && poll.options.holdsValues?.(target.name) ? held : undefined;
    const context = {
      ...{ source, readers, clock, zone, configHash: this.#freshHash, previous, device: this.#device.facts },
      tableOf: (join: CompiledJoin) => this.#freshRows(join.definition.path).tables.get(join),
      basis: this.#renderBasis(target),
    };
    this.#answers.noteAsked(target, true);
    const reading = this.#doubt(target, await readTarget(target, context, poll.deadline.signal));
    signal.throwIfAborted();
    if (reading.state !== 'failed') {
      this.#answers.hold(target, reading.held);
      // Rows of a resource that the router lacks, or may not show any more, are gone; the same answer has the same rows.
      if (reading.state !== 'read') {
        this.#answers.recordRows(target);
        if (target.path === SYSTEM) this.#configHash = undefined;
      }
      if (reading.state === 'read' && reading.tables) this.#answers.recordRows(target, reading.tables);
    }
    const result = this.#toResourceResult(target, reading, poll);
    poll.resources.push(result);
    const isAnswered = reading.state !== 'failed' || reading.isAnswered;
    const code = poll.deadline.signal.aborted ? 'timeout' : reading.code;
    poll.isUp ||= reading.state === 'read' && !reading.isFromMemory;
    if (reading.state === 'failed') poll.failure ??= { code, error: reading.error };
    else if (reading.state !== 'read') poll.refusal ??= { code, error: reading.error };
    // A slow resource may be an exception; an unavailable router fails for all resources.
    const isGone = !isAnswered && (code !== 'timeout' || poll.deadline.signal.aborted);
    poll.isOver = isGone || reading.isPutOff;
    if (isGone) return;
    this.#answers.outdated.delete(target);
    if (reading.state === 'failed') this.#timers.recordFailure(index, poll.startedMs);
    else if (this.#timers.recordRead(index, poll.startedMs, clock.now() - clock.monotonic())) this.#phaseChanges++;
    if (reading.state === 'read') this.#timers.recordValues(index, result.readAtMs, result.staleAfterMs);
    else if (reading.state !== 'failed') this.#timers.recordValues(index);
    if (reading.state === 'forbidden' && reading.isUnsure) {
      poll.unsure.add(target.name);
    } else if (reading.state !== 'failed') {
      this.#memory.record(target.name, reading.state === 'read' ? undefined : reading.state, reading.readAtMs);
    }
    if (reading.state === 'read' && !reading.isUnchanged) this.#learn(target, reading.document, poll);
  }

  /** Makes the first refusals of a resource that was read before failures: the router may still be starting. */
  #doubt({ name }: PollTarget, reading: TargetReading): TargetReading {
    const isDoubted = reading.state === 'unsupported' && this.#memory.doubt(name, reading.readAtMs);
    return isDoubted ? { ...reading, state: 'failed' } : reading;
  }

  /** Forgets the answers of targets that are not for this router any more; returns their names. */
  #withdraw(): readonly string[] {
    const gone = this.#plan.targets.filter((target) => this.#answers.isAsked(target) && !this.#isFor(target));
    for (const target of gone) {
      this.#answers.noteAsked(target, false);
      this.#answers.hold(target, undefined);
      this.#timers.reset(target.index);
      this.#timers.recordValues(target.index);
    }
    return gone.map(({ name }) => name);
  }

  /** Hash of the configuration; `undefined` once the answer with it would have expired: then it says nothing about now. */
  get #freshHash(): string | undefined {
    const target = this.#plan.byPath.get(SYSTEM);
    const isFresh = target && !this.#timers.hasExpired(target.index, this.#options.clock.monotonic());
    return isFresh ? this.#configHash : undefined;
  }

  /** Returns the rows of a target for joins; none once its own values would have expired. */
  #freshRows(path: string): JoinRows {
    const target = this.#plan.byPath.get(path);
    const nowMs = this.#options.clock.monotonic();
    return target && !this.#timers.hasExpired(target.index, nowMs) ? this.#answers.rows(target) : EXPIRED_ROWS;
  }

  /** Renders what the mapping of a target depends on besides its document: another text, and it has to be mapped again. */
  #renderBasis({ path, needs, isConditional }: PollTarget): string {
    if (needs.length === 0 && !isConditional) return '';
    // Its own rows are in its document.
    const others = needs.filter((need) => need !== path);
    const versions = others.map((need) => this.#freshRows(need).version);
    return JSON.stringify([versions, isConditional ? this.#device.facts : undefined]);
  }

  /** Learns facts from documents that the poller itself uses. */
  #learn({ path }: PollTarget, document: unknown, poll: PollInProgress): void {
    if (path === SYSTEM) this.#configHash = readSystemHash(document);
    if (path !== PROBE) return;
    if (this.#device.learn(document)) {
      const refused = new Set(this.#memory.forget());
      for (const { name, index } of this.#plan.targets) if (refused.has(name)) this.#timers.reset(index);
    }
    poll.withdrawn = [...poll.withdrawn, ...this.#withdraw()];
  }

  #toResourceResult(target: PollTarget, reading: TargetReading, { options }: PollInProgress): ResourceResult {
    const { name, index, modules, isIdentity, isOptional } = target;
    const multiplier = this.#multiplierOf(target, options);
    const { state, isUnchanged, families, faults, isUnread, durationMs, readAtMs, error } = reading;
    const lifeMs = this.#timers.lifeMs(index, Number.isFinite(multiplier) ? multiplier : 1, this.#options.staleAfterMs);
    return {
      name,
      modules,
      state,
      isUnchanged,
      families,
      faults,
      isUnread,
      durationMs,
      readAtMs,
      isIdentity,
      isOptional,
      staleAfterMs: isIdentity ? Infinity : lifeMs,
      error,
    };
  }

  /** Returns the same list for as long as the router answers as before. */
  #listCapabilities(): readonly ResourceCapability[] {
    const { answers } = this.#memory;
    if (this.#listed?.answers !== answers) {
      this.#listed = { answers, capabilities: listCapabilities(this.#plan, this.#memory) };
    }
    return this.#listed.capabilities;
  }

  #toResult(poll: PollInProgress, isIdle: boolean): PollResult {
    const setback = poll.failure ?? (poll.isUp ? undefined : poll.refusal);
    return {
      isUp: isIdle ? this.#isUp : poll.isUp,
      isIdle,
      failure: poll.isUp ? undefined : setback?.code,
      error: setback?.error,
      durationMs: this.#options.clock.monotonic() - poll.startedMs,
      resources: poll.resources,
      withdrawn: poll.withdrawn,
      capabilities: this.#listCapabilities(),
      firmwareVersion: this.#device.firmware,
      serialNumber: this.#device.serial,
      configHash: this.#configHash,
    };
  }
}
