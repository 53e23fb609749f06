import {
  type BackupCalendar,
  BackupError,
  type BackupEvent,
  backUpOnce,
  describeBackups,
  describeUnknownBackups,
  type ProfileArchive,
  type ProfileAttempt,
  type ProfileSource,
} from '../../backup/index.ts';
import { type Clock, CodedError, type Logger, openDeadline, renderErrorChain, type Timer } from '../../base/index.ts';
import { RouterError } from '../../client/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { MetricFamily, RouterIdentity } from '../../model/index.ts';
import type { RunOutcome } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';

export interface BackupPlan {
  readonly archive: ProfileArchive;
  readonly calendar: BackupCalendar;
  readonly format: 'binary' | 'ascii';
}

interface RouterBackupOptions {
  readonly router: RouterIdentity;
  readonly source: ProfileSource;
  readonly plan: BackupPlan;
  readonly exposition: FleetExposition;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly request: () => void;
}

/** Time limit of one backup of a router: some profiles of some hundred kilobytes over a slow link. Milliseconds. */
const DEADLINE_MS = 15 * 60_000;
/** Due times are computed again after this time, because the wall clock may be set. Milliseconds. */
const RECHECK_MS = 3_600_000;
/** Failed profiles are retried after this time, before the next date. Milliseconds. */
const RETRY_MS = 3_600_000;

/** The backups of one router's profiles, on schedule and after a poll has seen a change. */
export class RouterBackup {
  readonly #options: RouterBackupOptions;
  readonly #changes = new ChangeWatch();
  #timer: Timer | undefined;
  #reason: 'schedule' | 'change' = 'schedule';
  /** Wall time in milliseconds since the Unix epoch. */
  #dueMs: number | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Profiles not retried before the next date: backed up since the last one, or a retry cannot succeed. */
  readonly #settled = new Set<string>();
  /** Wall times between which a run retries the last one; `undefined` without failures to retry. */
  #retry: { readonly fromMs: number; readonly toMs: number } | undefined;
  #runs = 0;

  constructor(options: RouterBackupOptions) {
    this.#options = options;
  }

  /**
   * Schedules the next backup. Profiles whose backup was missed or cut short by the end of the agent are backed up
   * immediately, failed ones an hour later, without the others.
   */
  start(): void {
    void this.#begin();
  }

  /** Schedules a backup if a poll has seen a change. */
  onPoll(result: PollResult): void {
    if (!this.#changes.sees(result)) return;
    this.#reason = 'change';
    this.#options.request();
    // The run may be skipped: the router asked for a delay, or the byte budget is used up.
    this.#wait(Math.min(this.#dueMs ?? Infinity, this.#options.clock.now() + RECHECK_MS));
  }

  /** Backs up all profiles once, or before the next date only those that failed in the last run. */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    const { router, source, plan, clock, logger } = this.#options;
    this.#runs++;
    const reason = this.#reason;
    this.#reason = 'schedule';
    if (reason === 'change' || !this.#isRetry()) this.#settled.clear();
    this.#retry = undefined;
    const failures: FailedProfile[] = [];
    let thrown: unknown;
    using deadline = openDeadline(clock, DEADLINE_MS, signal);
    let outcome: RunOutcome = 'done';
    try {
      const { archive, format } = plan;
      const report = (event: BackupEvent) => {
        this.#onEvent(event);
        if (event.type === 'profile-failed') failures.push(event);
        else this.#settled.add(event.profile);
      };
      const isWanted = (profile: string) => !this.#settled.has(profile);
      await backUpOnce({ router: router.name, source, archive, format, reason, isWanted, report }, deadline.signal);
    } catch (cause) {
      signal.throwIfAborted();
      logger.warn('The profiles could not be backed up', { router: router.name, error: renderErrorChain(cause) });
      // A router that asks for a delay is retried like an unreachable one.
      const isPutOff = cause instanceof RouterError && cause.retryAfterMs !== undefined;
      outcome = isPutOff || (cause instanceof RouterError && !cause.isAnswered) ? 'failed' : 'done';
      thrown = cause;
    }
    const hasFailed = thrown !== undefined;
    let isOwing = hasFailed;
    for (const { profile, cause } of failures) {
      // The cause of the early end says nothing about a single profile.
      if (cause === thrown) continue;
      if (isWorthRetrying(cause)) isOwing = true;
      else if (!isFree(cause)) this.#settled.add(profile);
    }
    await this.#publish(hasFailed);
    const nextMs = plan.calendar.dueMs(router.name, clock.now());
    const toMs = nextMs ?? Number.POSITIVE_INFINITY;
    if (isOwing) this.#retry = { fromMs: clock.now(), toMs };
    if (this.#hasChanged) this.#wait(clock.now());
    else this.#wait(isOwing ? Math.min(clock.now() + RETRY_MS, toMs) : nextMs);
    return outcome;
  }

  /** A change since the last run began: that run served the request, but may have missed the change. */
  get #hasChanged(): boolean {
    return this.#reason === 'change';
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** False if the clock was set back, because the dates are others then. */
  #isRetry(): boolean {
    const nowMs = this.#options.clock.now();
    return this.#retry !== undefined && this.#retry.fromMs <= nowMs && nowMs < this.#retry.toMs;
  }

  async #begin(): Promise<void> {
    const { router, plan, clock, logger } = this.#options;
    try {
      await this.#publish(false);
      const attempts = await plan.archive.readLastAttempts(router.name);
      // A backup after a change has run meanwhile and set the next date.
      if (this.#runs > 0) return;
      this.#resume(attempts);
    } catch (cause) {
      logger.warn('The kept profiles could not be read', { router: router.name, error: renderErrorChain(cause) });
      this.#wait(plan.calendar.dueMs(router.name, clock.now()));
    }
  }

  /** Continues where an earlier process has stopped, perhaps within a backup. */
  #resume(attempts: readonly ProfileAttempt[]): void {
    const { router, plan, clock } = this.#options;
    const nowMs = clock.now();
    const findDateMs = (afterMs: number) => plan.calendar.dueMs(router.name, afterMs) ?? Number.POSITIVE_INFINITY;
    const nextMs = findDateMs(nowMs);
    let dueMs = nextMs;
    for (const { profile, timeMs, isSuccess } of attempts) {
      // An attempt in the future was made before the clock was set back.
      const triedMs = Math.min(timeMs, nowMs);
      const ownMs = Math.min(findDateMs(triedMs), isSuccess ? Number.POSITIVE_INFINITY : triedMs + RETRY_MS);
      if (ownMs === nextMs && isSuccess) this.#settled.add(profile);
      dueMs = Math.min(dueMs, ownMs);
    }
    if (dueMs < nextMs) this.#retry = { fromMs: nowMs, toMs: nextMs };
    // A run requested meanwhile may be due before.
    const firstMs = Math.min(dueMs, this.#dueMs ?? Number.POSITIVE_INFINITY);
    this.#wait(Number.isFinite(firstMs) ? firstMs : undefined);
  }

  #wait(dueMs: number | undefined): void {
    const { router, plan, clock } = this.#options;
    this.#dueMs = dueMs;
    this.#checkedAtMs = clock.now();
    this.#timer?.cancel();
    if (this.#isClosed || dueMs === undefined) return;
    this.#timer = clock.setTimer(Math.min(Math.max(0, dueMs - clock.now()), RECHECK_MS), () => {
      if (this.#dueMs === undefined) return;
      // The clock was set back: wait only for the rest, and at most to the next date.
      if (clock.now() < this.#checkedAtMs) {
        const leftMs = Math.max(0, this.#dueMs - this.#checkedAtMs);
        return this.#wait(Math.min(clock.now() + leftMs, plan.calendar.dueMs(router.name, clock.now()) ?? Infinity));
      }
      if (clock.now() < this.#dueMs) return this.#wait(this.#dueMs);
      this.#options.request();
      // The run is skipped while the byte budget is used up, so it is triggered again later.
      this.#wait(clock.now() + RECHECK_MS);
    });
  }

  async #publish(hasFailed: boolean): Promise<void> {
    const families = await this.#describe(hasFailed);
    const { router, exposition } = this.#options;
    // A router that was removed meanwhile has no series.
    if (!this.#isClosed) exposition.publish(router, 'backup', families);
  }

  async #describe(hasFailed: boolean): Promise<readonly MetricFamily[]> {
    const { router, plan, logger } = this.#options;
    try {
      const families = await describeBackups(plan.archive, router.name);
      const isKnown = families.some(({ samples }) => samples.length > 0);
      return hasFailed && !isKnown ? describeUnknownBackups() : families;
    } catch (cause) {
      logger.warn('The kept profiles could not be read', { router: router.name, error: renderErrorChain(cause) });
      return describeUnknownBackups();
    }
  }

  #onEvent(event: BackupEvent): void {
    const { logger } = this.#options;
    const { router, profile } = event;
    switch (event.type) {
      case 'profile-kept':
        logger.info('Kept a version of a profile', { router, profile, reason: event.reason, file: event.file });
        return;
      case 'profile-unchanged':
        logger.debug('A profile has not changed', { router, profile });
        return;
      case 'profile-failed':
        logger.warn('A profile could not be backed up', { router, profile, error: renderErrorChain(event.cause) });
        return;
    }
  }
}

type FailedProfile = Extract<BackupEvent, { readonly type: 'profile-failed' }>;

/** False for permanent failures: profiles that the router lacks or refuses, sizes and names out of bounds. */
function isWorthRetrying(cause: unknown): boolean {
  if (!(cause instanceof CodedError) || cause.disposition === 'retry') return true;
  return cause instanceof BackupError ? cause.code === 'write' : cause instanceof RouterError && !cause.isAnswered;
}

/** True if it failed before a download. A router can make up any number of such names, so they are not kept. */
function isFree(cause: unknown): boolean {
  return cause instanceof BackupError && (cause.code === 'bad-name' || cause.code === 'too-many');
}

/** Families whose values change with the configuration of a router. */
const CHANGE_FAMILIES = new Set([
  'router_config_changes_total',
  'router_profile_modified',
  'router_profile_last_activated',
]);

class ChangeWatch {
  #hash: string | undefined;
  /** Last values by family, then labels; bounded, although a router can name new profiles. */
  readonly #values = new Map<string, ReadonlyMap<string, number>>();

  /** Returns true if this result differs from the previous ones. The first result is not a change. */
  sees({ configHash, resources }: PollResult): boolean {
    let isChanged = false;
    if (configHash !== undefined) {
      isChanged = this.#hash !== undefined && this.#hash !== configHash;
      this.#hash = configHash;
    }
    for (const { name, samples } of resources.flatMap(({ families }) => families)) {
      if (!CHANGE_FAMILIES.has(name)) continue;
      const before = this.#values.get(name);
      const now = new Map(samples.map(({ labels, value }) => [JSON.stringify(labels), value]));
      isChanged ||= now.entries().some(([series, value]) => (before?.get(series) ?? value) !== value);
      this.#values.set(name, now);
    }
    return isChanged;
  }
}
