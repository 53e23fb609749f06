import { type Clock, openDeadline } from '../../base/index.ts';
import type { CompiledJoin } from '../mapping/labels.ts';
import type { ModuleDefinition } from '../module-settings/module-schema.ts';
import { type DocumentSource, readTarget, type StatusReaders } from './ask.ts';
import { expiresAt, isForRouter, listDue } from './due.ts';
import { forgetPoll, learn, learnEnd, listLacks, renewIdentity, SYSTEM } from './learn.ts';
import { createPollPlan, type PollTarget } from './poll-plan.ts';
import { type Lack, NO_ROWS, type Poll, type PollOptions, PollState, type ResourceResult } from './poll-state.ts';

interface StatusPollerOptions {
  /** Checked modules to read. */
  readonly modules: readonly ModuleDefinition[];
  readonly source: DocumentSource;
  /** Readers by name; modules whose reader is missing are left out. Default: none. */
  readonly readers?: StatusReaders | undefined;
  /** Due times use the monotonic clock, the time of reading the wall clock. */
  readonly clock: Clock;
  /** Default interval of modules. Milliseconds. */
  readonly intervalMs: number;
  /** Time limit of one poll. Milliseconds. */
  readonly deadlineMs: number;
  /** Minimum time for which values are served without being renewed. Milliseconds. */
  readonly staleAfterMs: number;
  /** IANA name of the router's zone; `undefined` if unknown. */
  readonly zone: string | undefined;
  /** {@link StatusPoller.takeState} of an earlier poller of this router. Default: none. */
  readonly previous?: string | undefined;
}

/** Result of one poll. */
export interface PollResult {
  /** True if at least one resource was read; for an idle poll, the value of the previous poll. */
  readonly isUp: boolean;
  /** True if nothing was due, so nothing was read. */
  readonly isIdle: boolean;
  /** Reason of a failed poll: a code from the source's closed list. `undefined` on success. */
  readonly failure: string | undefined;
  /** The first error of a failed resource, or of a refused one if none was read; the cause of `failure`, if set. */
  readonly error: unknown;
  readonly durationMs: number;
  /** A poll that loses the router does not reach all resources. */
  readonly resources: readonly ResourceResult[];
  /** Names of resources whose conditions the router does not meet, perhaps since an update of its firmware: they have no values. */
  readonly withdrawn: readonly string[];
  /** Resources that the router is known not to have; the same list while its answers do not change. */
  readonly lacks: readonly Lack[];
  /** Of the main board; `undefined` if not reported. */
  readonly firmwareVersion: string | undefined;
  /** Of the main board, which is the device's; `undefined` if not reported. */
  readonly serialNumber: string | undefined;
  /** `undefined` if not reported. */
  readonly configHash: string | undefined;
}

/**
 * Reads the status of one router in polls, one resource after the other: `due.ts` chooses the next one, `ask.ts` reads it, `learn.ts`
 * updates the state. Resources that the router does not have, or does not let this account read, are rarely read until the firmware
 * changes. After a failed poll, and on request, the router's identity is read first.
 */
export class StatusPoller {
  readonly #options: StatusPollerOptions;
  readonly #state: PollState;

  constructor(options: StatusPollerOptions) {
    const { modules, intervalMs, readers = {}, previous, clock } = options;
    this.#options = options;
    this.#state = new PollState(createPollPlan(modules, intervalMs, Object.keys(readers)), previous, clock);
  }

  /** Returns the state for the next poller of this router if it has changed since the last call. */
  takeState(): string | undefined {
    return this.#state.take(this.#options.clock);
  }

  /** The interval at which polls are needed: the shortest interval of the modules. Milliseconds. */
  get tickMs(): number {
    return this.#state.plan.tickMs;
  }

  /** Makes the identity due at once, also in a poll in progress: after a new login the router may be a different one. */
  renewIdentity(): void {
    renewIdentity(this.#state);
  }

  /**
   * Reads every due resource. A failed one does not affect the others; the poll ends early if the router is unreachable or asks for a
   * delay, or at the deadline. Rejects only with the signal's reason.
   */
  async pollOnce(signal: AbortSignal, options: PollOptions = {}): Promise<PollResult> {
    const { clock, deadlineMs, staleAfterMs } = this.#options;
    using deadline = openDeadline(clock, deadlineMs, signal);
    const state = this.#state;
    const poll: Poll = {
      ...{ startedMs: clock.monotonic(), deadlineMs, staleAfterMs, options },
      ...{ asked: new Set(), leftOver: new Set(), unsure: new Set(), resources: [] },
      ...{ isUp: false, isOver: false, failure: undefined, refusal: undefined },
    };
    try {
      for (const target of listDue(state, poll)) {
        poll.asked.add(target);
        const reading = await readTarget(target, this.#toContext(target, options), deadline.signal);
        signal.throwIfAborted();
        const offsetMs = clock.now() - clock.monotonic();
        learn(state, poll, target, reading, { isLate: deadline.signal.aborted, offsetMs });
      }
    } catch (cause) {
      forgetPoll(state, poll);
      throw cause;
    }
    learnEnd(state, poll);
    const { isUp, resources, failure, refusal } = poll;
    const setback = failure ?? (isUp ? undefined : refusal);
    return {
      isUp: state.isUp,
      isIdle: poll.asked.size === 0,
      failure: isUp ? undefined : setback?.code,
      error: setback?.error,
      durationMs: clock.monotonic() - poll.startedMs,
      resources,
      withdrawn: state.plan.targets.filter((target) => !isForRouter(state, target)).map(({ name }) => name),
      lacks: listLacks(state),
      firmwareVersion: state.firmware,
      serialNumber: state.serial,
      configHash: state.configHash,
    };
  }

  #toContext(target: PollTarget, { holdsValues }: PollOptions) {
    const { source, readers, clock, zone } = this.#options;
    const { configHash, serial, device, held } = this.#state;
    const previous = holdsValues?.(target.name) ? held.get(target) : undefined;
    return {
      ...{ source, readers, clock, zone, device, previous },
      configHash: this.#isFresh(SYSTEM) ? configHash : undefined,
      serialNumber: serial,
      tableOf: (join: CompiledJoin) => this.#rowsOf(join.definition.path)?.tables.get(join),
      basis: this.#renderBasis(target),
    };
  }

  /** True if a path has been read and its values have not expired. */
  #isFresh(path: string): boolean {
    const target = this.#state.plan.byPath.get(path);
    return target !== undefined && this.#options.clock.monotonic() < expiresAt(this.#state, target);
  }

  /** `undefined` once the values of the path have expired. */
  #rowsOf(path: string): typeof NO_ROWS | undefined {
    const { plan, rows } = this.#state;
    const target = plan.byPath.get(path);
    return target && this.#isFresh(path) ? (rows?.get(target) ?? NO_ROWS) : undefined;
  }

  /** A target has to be mapped again if this text changes, even if its document does not. */
  #renderBasis({ path, needs, isConditional }: PollTarget): string {
    if (needs.length === 0 && !isConditional) return '';
    // Its own rows are in its document.
    const versions = needs.filter((need) => need !== path).map((need) => this.#rowsOf(need)?.version ?? null);
    return JSON.stringify([versions, isConditional ? this.#state.device : undefined]);
  }
}
