import { type Clock, type Deadline, openDeadline } from '../base/index.ts';
import type { DocumentSource } from './contracts.ts';
import { KnownDevice } from './known-device.ts';
import { readSystemHash } from './known-fields.ts';
import type { CompiledJoin, JoinTable } from './mapping/join.ts';
import { ModelMemory } from './model-memory.ts';
import type { ModuleDefinition } from './module-settings/module-definition.ts';
import { createPollPlan, type PollPlan, type PollTarget, PROBE, type StatusReaders } from './poll-plan.ts';
import type { PollResult, ResourceCapability, ResourceResult } from './poll-result.ts';
import { parseState, renderState } from './poller-state.ts';
import { type HeldAnswer, readTarget, type TargetReading } from './read-target.ts';
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
  /** Resources that routers of each model lack, shared by all pollers. Default: no other router is known. */
  readonly models?: ModelMemory | undefined;
  /** State of an earlier poller of this router ({@link StatusPoller.takeState}). Default: none. */
  readonly previous?: string | undefined;
}

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

/** A target and its state. */
interface Tracked {
  readonly target: PollTarget;
  /** Its index in the plan. */
  readonly index: number;
  /** For identity: the renewal to which its values belong. */
  renewal: number;
  /** True if the previous poll ended before reaching it. */
  isLeftOver: boolean;
  /** The last answer, if an equal one means the same. */
  held: HeldAnswer | undefined;
  /** Rows of its last answer for joins, and a number of its own for each such answer. */
  tables: ReadonlyMap<CompiledJoin, JoinTable>;
  tablesVersion: number;
  /** True once it was asked for, with or without success. */
  isAsked: boolean;
}

/** A poll in progress. */
interface PollInProgress {
  readonly startedMs: number;
  readonly deadline: Deadline;
  readonly options: PollOptions;
  resources: ResourceResult[];
  withdrawn: readonly string[];
  readonly asked: Set<Tracked>;
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
  readonly #tracked: readonly Tracked[];
  readonly #timers: TargetTimers;
  readonly #memory: CapabilityMemory;
  /** The router that the memory is of. */
  readonly #device: KnownDevice;
  readonly #models: ModelMemory;
  /** Memory and router that were handed out last. */
  #takenRevision = '';
  /** Increases when slow modules are read at another time than before. */
  #phaseChanges = 0;
  #listed: { readonly answers: number; readonly capabilities: readonly ResourceCapability[] } | undefined;
  /** Increases when the router may have been replaced. */
  #renewal = 0;
  #isUp = false;
  /** Resources withdrawn in polls that were given up. */
  #unreported: readonly string[] = [];
  #configHash: string | undefined;

  constructor(options: StatusPollerOptions) {
    this.#options = options;
    this.#plan = createPollPlan(options.modules, options.intervalMs, options.readers);
    this.#timers = new TargetTimers(this.#plan);
    this.#memory = new CapabilityMemory(this.#plan);
    this.#tracked = this.#plan.targets.map((target, index) => ({
      target,
      index,
      renewal: 0,
      isLeftOver: false,
      held: undefined,
      tables: NO_TABLES,
      tablesVersion: 0,
      isAsked: false,
    }));
    this.#models = options.models ?? new ModelMemory();
    const known = parseState(options.previous);
    this.#device = new KnownDevice(known);
    // Nothing would say that it is another router by now.
    if (this.#device.isNew) return;
    const { clock } = options;
    for (const { resource, untilMs } of known.lacks) {
      if (this.#plan.names.has(resource)) this.#memory.restoreLack(resource, untilMs - clock.now(), clock.monotonic());
    }
    for (const { resource, intervalMs, phaseMs } of known.phases) {
      const tracked = this.#tracked.find(({ target }) => target.name === resource && target.intervalMs === intervalMs);
      if (tracked) this.#timers.restorePhase(tracked.index, phaseMs);
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
      phases: this.#tracked.flatMap(({ target: { name, intervalMs }, index }) => {
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
    this.#renewal++;
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
      for (const tracked of this.#tracked) {
        if (!poll.isOver && poll.asked.size > 0 && this.#isOutdated(tracked) && this.#isFor(tracked))
          await this.#read(tracked, poll, signal);
      }
    } catch (cause) {
      this.#forget(poll);
      throw cause;
    }
    this.#unreported = [];
    this.#judgeUnsure(poll);
    if (poll.asked.size === 0) return this.#toResult(poll, true);
    this.#isUp = poll.isUp;
    if (!poll.isUp) this.#renewal++;
    return this.#toResult(poll, false);
  }

  /** Makes due again what a poll has read that was given up: nobody got its values. */
  #forget({ asked, withdrawn }: PollInProgress): void {
    for (const tracked of asked) {
      this.#timers.reset(tracked.index);
      tracked.held = undefined;
    }
    this.#unreported = withdrawn;
  }

  async #readDue(poll: PollInProgress, signal: AbortSignal): Promise<void> {
    let held: Tracked | undefined;
    for (const tracked of this.#order()) {
      const isDue = this.#isDue(tracked, poll);
      const isTooMuch =
        poll.slowResources >= (poll.options.slowResourcesMax ?? Infinity) &&
        this.#isSpared(tracked, poll) &&
        !this.#isExpiring(tracked, poll);
      tracked.isLeftOver = isDue && (poll.isOver || isTooMuch);
      if (!isDue || tracked.isLeftOver) continue;
      if (this.#mayAsk(tracked, poll.startedMs)) await this.#read(tracked, poll, signal);
      else held ??= tracked;
    }
    const isWanted = poll.asked.size > 0 || held !== undefined || poll.options.isSignWanted === true;
    if (poll.isUp || poll.isOver || !isWanted) return;
    // A poll that reads nothing is not a success. Reading one resource that the router is known to have distinguishes
    // an outage from a poll in which the few due resources failed or have long been refused.
    const readable = this.#tracked.find(
      (tracked) => !poll.asked.has(tracked) && this.#isReadable(tracked) && this.#isFor(tracked),
    );
    const witness = readable ?? (poll.asked.size === 0 ? held : undefined);
    if (witness) await this.#read(witness, poll, signal);
  }

  /** Returns true for a resource that may wait for the next poll of a slow router. */
  #isSpared({ target }: Tracked, { options }: PollInProgress): boolean {
    return !options.isFresh && !target.isIdentity && this.#isSlow(target);
  }

  /** Returns true if values would expire until the end of the next poll. */
  #isExpiring({ index }: Tracked, { startedMs, options }: PollInProgress): boolean {
    if (options.mayExpire) return false;
    const waitMs = this.#plan.tickMs * Math.max(1, options.intervalMultiplier?.(false) ?? 1);
    return this.#timers.expiresBetween(index, startedMs, startedMs + waitMs + this.#options.deadlineMs);
  }

  #mayAsk({ target: { name } }: Tracked, nowMs: number): boolean {
    if (this.#memory.mayAsk(name, nowMs)) return true;
    // Another router of the model has it after all.
    return this.#memory.isGuess(name) && this.#models.find(this.#device.model ?? '', name) === 'some';
  }

  /** If anything else was read, these resources were refused; otherwise the account was. */
  #judgeUnsure(poll: PollInProgress): void {
    if (poll.isUp) {
      for (const name of poll.unsure) this.#memory.record(name, 'forbidden', poll.startedMs);
    } else {
      poll.resources = poll.resources.map((one) => (poll.unsure.has(one.name) ? { ...one, state: 'failed' } : one));
    }
  }

  #isReadable({ target }: Tracked): boolean {
    return this.#memory.get(target.name) === 'readable';
  }

  /**
   * Identity first, then what the previous poll did not reach, the longest unread first, so that nothing behind a slow resource
   * waits forever; last what the router is guessed to lack.
   */
  #order(): readonly Tracked[] {
    const identity: Tracked[] = [];
    const leftOver: Tracked[] = [];
    const others: Tracked[] = [];
    const guessed: Tracked[] = [];
    for (const tracked of this.#tracked) {
      const { isIdentity, name } = tracked.target;
      if (isIdentity) identity.push(tracked);
      else if (tracked.isLeftOver) leftOver.push(tracked);
      else (this.#memory.isGuess(name) ? guessed : others).push(tracked);
    }
    // Of what was never read, the time is minus infinity.
    const order = (a: number, b: number) => (a < b ? -1 : Number(a > b));
    leftOver.sort((a, b) => order(this.#timers.lastMs(a.index), this.#timers.lastMs(b.index)));
    return [...identity, ...leftOver, ...others, ...guessed];
  }

  /** Returns true if a target, or any part of it, is for this router. */
  #isFor({ target: { path, isConditional, resources, feeds } }: Tracked): boolean {
    if (!isConditional || path === PROBE) return true;
    return feeds.length > 0 || resources.some((resource) => resource.isFor(this.#device.facts));
  }

  #find(path: string): Tracked | undefined {
    return this.#tracked[this.#plan.places.get(path) ?? -1];
  }

  /** Returns true if a target has to wait for another one whose rows it is joined with: its labels would change at once. */
  #isWaiting({ target: { path, needs } }: Tracked, nowMs: number): boolean {
    if (needs.length === 0) return false;
    const { places } = this.#plan;
    return needs.some((need) => {
      const other = this.#find(need);
      // Of two that are joined with each other, the first one does not wait.
      const isBefore = (places.get(need) ?? 0) < (places.get(path) ?? 0);
      return other && isBefore && !other.isAsked && this.#mayAsk(other, nowMs);
    });
  }

  #isDue(tracked: Tracked, { options, startedMs }: PollInProgress): boolean {
    if (!this.#isFor(tracked) || this.#isWaiting(tracked, startedMs)) return false;
    if (options.isFresh || this.#isOutdated(tracked)) return true;
    const multiplier = this.#multiplierOf(tracked.target, options);
    if (this.#timers.isDue(tracked.index, startedMs, multiplier)) return true;
    return !options.mayExpire && Number.isFinite(multiplier) && this.#timers.isRenewalDue(tracked.index, startedMs);
  }

  #isOutdated({ target, renewal }: Tracked): boolean {
    return target.isIdentity && renewal !== this.#renewal;
  }

  #multiplierOf(target: PollTarget, { intervalMultiplier }: PollOptions): number {
    return intervalMultiplier?.(this.#isSlow(target)) ?? 1;
  }

  /** Returns true for a slow module: see {@link PollOptions.intervalMultiplier}. */
  #isSlow({ intervalMs }: PollTarget): boolean {
    return intervalMs > Math.max(this.#options.intervalMs, this.#plan.tickMs);
  }

  async #read(tracked: Tracked, poll: PollInProgress, signal: AbortSignal): Promise<void> {
    const { target, index } = tracked;
    const { source, readers, clock, zone } = this.#options;
    poll.asked.add(tracked);
    if (this.#isSpared(tracked, poll)) poll.slowResources++;
    const previous = tracked.held && poll.options.holdsValues?.(target.name) ? tracked.held : undefined;
    const context = {
      ...{ source, readers, clock, zone, configHash: this.#configHash, previous, device: this.#device.facts },
      tableOf: (join: CompiledJoin) => this.#freshTables(join.definition.path).tables.get(join),
      basis: this.#renderBasis(tracked),
    };
    tracked.isAsked = true;
    const reading = await readTarget(target, context, poll.deadline.signal);
    signal.throwIfAborted();
    if (reading.state !== 'failed') {
      tracked.held = reading.held;
      // Rows of a resource that the router lacks, or may not show any more, are gone.
      const tables = reading.state === 'read' ? reading.tables : NO_TABLES;
      if (tables && (tables.size > 0 || tracked.tables.size > 0)) {
        tracked.tables = tables;
        tracked.tablesVersion++;
      }
    }
    const result = this.#toResourceResult(tracked, reading, poll);
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
    tracked.renewal = this.#renewal;
    if (reading.state === 'failed') this.#timers.recordFailure(index, poll.startedMs);
    else if (this.#timers.recordRead(index, poll.startedMs, clock.now() - clock.monotonic())) this.#phaseChanges++;
    if (reading.state === 'read') this.#timers.recordValues(index, result.readAtMs, result.staleAfterMs);
    else if (reading.state !== 'failed') this.#timers.recordValues(index);
    if (reading.state === 'forbidden' && reading.isUnsure) {
      poll.unsure.add(target.name);
    } else if (reading.state !== 'failed') {
      const isGuess = this.#memory.isGuess(target.name);
      this.#memory.record(target.name, reading.state === 'read' ? undefined : reading.state, reading.readAtMs);
      if (reading.state !== 'forbidden') this.#compare(target.name, reading.state === 'unsupported', isGuess);
    }
    if (reading.state === 'read' && !reading.isUnchanged) this.#learn(target, reading.document, poll);
  }

  /** Forgets the answers of targets that are not for this router any more; returns their names. */
  #withdraw(): readonly string[] {
    const gone = this.#tracked.filter((tracked) => tracked.isAsked && !this.#isFor(tracked));
    for (const tracked of gone) {
      tracked.isAsked = false;
      tracked.held = undefined;
      this.#timers.reset(tracked.index);
      this.#timers.recordValues(tracked.index);
    }
    return gone.map(({ target }) => target.name);
  }

  /** Returns the rows of a target for joins, and their version; none once its own values would have expired. */
  #freshTables(path: string): Pick<Tracked, 'tables' | 'tablesVersion'> {
    const tracked = this.#find(path);
    const nowMs = this.#options.clock.monotonic();
    const isExpired = tracked && this.#timers.hasExpired(tracked.index, nowMs);
    return tracked && !isExpired ? tracked : { tables: NO_TABLES, tablesVersion: NO_VERSION };
  }

  /** Renders what the mapping of a target depends on besides its document: another text, and it has to be mapped again. */
  #renderBasis({ target: { path, needs, isConditional } }: Tracked): string {
    if (needs.length === 0 && !isConditional) return '';
    // Its own rows are in its document.
    const others = needs.filter((need) => need !== path);
    const versions = others.map((need) => this.#freshTables(need).tablesVersion);
    return JSON.stringify([versions, isConditional ? this.#device.facts : undefined]);
  }

  /** Compares an answer with what is known of the model: a router that differs from the others is asked for everything. */
  #compare(resource: string, isLacking: boolean, isGuess: boolean): void {
    const { model } = this.#device;
    if (model === undefined) return;
    const isOtherThanModel = isLacking ? this.#models.find(model, resource) === 'some' : isGuess;
    if (isOtherThanModel) this.#memory.forgetGuesses();
    this.#models.learn(model, resource, isLacking);
  }

  /** Guesses that the router lacks what others of its model lack. */
  #guess(model: string): void {
    const nowMs = this.#options.clock.monotonic();
    for (const { target } of this.#tracked) {
      if (target.isIdentity || target.reader || this.#models.find(model, target.name) !== 'none') continue;
      this.#memory.guessLack(target.name, this.#device.serial ?? '', nowMs);
    }
  }

  /** Learns facts from documents that the poller itself uses. */
  #learn({ path }: PollTarget, document: unknown, poll: PollInProgress): void {
    if (path === 'sysdetail/system') this.#configHash = readSystemHash(document);
    if (path !== PROBE) return;
    const { hasChanged, mayGuess } = this.#device.learn(document);
    if (hasChanged) {
      const refused = new Set(this.#memory.forget());
      for (const { target, index } of this.#tracked) if (refused.has(target.name)) this.#timers.reset(index);
    }
    const { model } = this.#device;
    if (model !== undefined && mayGuess) this.#guess(model);
    poll.withdrawn = [...poll.withdrawn, ...this.#withdraw()];
  }

  #toResourceResult({ target, index }: Tracked, reading: TargetReading, { options }: PollInProgress): ResourceResult {
    const { name, modules, isIdentity, isOptional } = target;
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

const NO_TABLES: ReadonlyMap<CompiledJoin, JoinTable> = new Map();
/** Version of rows that have expired; those of answers are positive, and 0 stands for those before the first answer. */
const NO_VERSION = -1;
