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
import type { FleetExposition } from '../../exposition/index.ts';
import type { MetricFamily, RouterIdentity } from '../../model/index.ts';
import { RouterError } from '../../router/index.ts';
import type { RunOutcome } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';

/** Settings shared by the backups of all routers. */
export interface BackupPlan {
  readonly archive: ProfileArchive;
  readonly calendar: BackupCalendar;
  readonly format: 'binary' | 'ascii';
}

/** One router, and where its profiles are kept. */
interface RouterBackupOptions {
  /** Router whose profiles are backed up. */
  readonly router: RouterIdentity;
  /** Downloads the profiles. */
  readonly source: ProfileSource;
  /** Schedule, format and folder of the backups. */
  readonly plan: BackupPlan;
  /** Exposition that serves the backup metrics. */
  readonly exposition: FleetExposition;
  /** Clock for due times and the time limit. */
  readonly clock: Clock;
  /** Log for the outcome of backups. */
  readonly logger: Logger;
  /** Triggers a run. */
  readonly request: () => void;
}

/** Bound of one backup of a router: some profiles of some hundred kilobytes over a slow link. Milliseconds. */
const DEADLINE_MS = 15 * 60_000;
/** Interval at which due times are computed again, because the wall clock may be set. Milliseconds. */
const LOOK_AGAIN_MS = 3_600_000;
/** What could not be backed up is tried again after this time, not only at the next date. Milliseconds. */
const RETRY_MS = 3_600_000;

/** The backups of one router's profiles: on schedule, and after a poll has seen a change. */
export class RouterBackup {
  readonly #options: RouterBackupOptions;
  readonly #changes = new ChangeWatch();
  #timer: Timer | undefined;
  #reason: 'schedule' | 'change' = 'schedule';
  /** Wall time, milliseconds since the Unix epoch. */
  #dueMs: number | undefined;
  /** Wall time at which that was looked at last. */
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Profiles that are not tried again before the next date: they were backed up since the last one, or another try is in vain. */
  readonly #settled = new Set<string>();
  /** Wall times between which a run is another try of the last one; `undefined` if that has left nothing to try. */
  #retry: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Backups that were begun. */
  #runs = 0;

  constructor(options: RouterBackupOptions) {
    this.#options = options;
  }

  /**
   * Schedules the next backup. Profiles whose backup was missed or cut short by the end of the agent are backed up immediately,
   * and those whose backup failed an hour later, without the others.
   */
  start(): void {
    void this.#begin();
  }

  /** Schedules a backup if a poll has seen a change. */
  onPoll(result: PollResult): void {
    if (!this.#changes.sees(result)) return;
    this.#reason = 'change';
    this.#options.request();
    // The run may be skipped: the router asked for a wait, or the byte budget is used up.
    this.#wait(Math.min(this.#dueMs ?? Infinity, this.#options.clock.now() + LOOK_AGAIN_MS));
  }

  /** Backs up all profiles once, or before the next date those that could not be backed up in the last run. */
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
      // A router that asks for a wait is retried like an unreachable one.
      const isPutOff = cause instanceof RouterError && cause.retryAfterMs !== undefined;
      outcome = isPutOff || (cause instanceof RouterError && !cause.isAnswered) ? 'failed' : 'done';
      thrown = cause;
    }
    const hasFailed = thrown !== undefined;
    let isOwing = hasFailed;
    for (const { profile, cause } of failures) {
      // What ended the run says nothing of a single profile.
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

  /** True if a poll has seen a change since the last run began: the request for a run was taken for that one, which may have missed it. */
  get #hasChanged(): boolean {
    return this.#reason === 'change';
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** True if a run now is another try; not when the clock was set back: then the dates are others. */
  #isRetry(): boolean {
    const nowMs = this.#options.clock.now();
    return this.#retry !== undefined && this.#retry.fromMs <= nowMs && nowMs < this.#retry.toMs;
  }

  async #begin(): Promise<void> {
    const { router, plan, clock, logger } = this.#options;
    try {
      await this.#publish(false);
      const attempts = await plan.archive.readLastAttempts(router.name);
      // A backup that ran meanwhile, after a change, has set the next date.
      if (this.#runs > 0) return;
      this.#resume(attempts);
    } catch (cause) {
      logger.warn('The kept profiles could not be read', { router: router.name, error: renderErrorChain(cause) });
      this.#wait(plan.calendar.dueMs(router.name, clock.now()));
    }
  }

  /** Goes on where an earlier process has stopped, perhaps in the middle of a backup. */
  #resume(attempts: readonly ProfileAttempt[]): void {
    const { router, plan, clock } = this.#options;
    const nowMs = clock.now();
    const findDateMs = (afterMs: number) => plan.calendar.dueMs(router.name, afterMs) ?? Number.POSITIVE_INFINITY;
    const nextMs = findDateMs(nowMs);
    let dueMs = nextMs;
    for (const { profile, timeMs, isSuccess } of attempts) {
      // An attempt of the future was made before the clock was set back.
      const triedMs = Math.min(timeMs, nowMs);
      const ownMs = Math.min(findDateMs(triedMs), isSuccess ? Number.POSITIVE_INFINITY : triedMs + RETRY_MS);
      if (ownMs === nextMs && isSuccess) this.#settled.add(profile);
      dueMs = Math.min(dueMs, ownMs);
    }
    if (dueMs < nextMs) this.#retry = { fromMs: nowMs, toMs: nextMs };
    // One that was asked for meanwhile may be due before.
    const firstMs = Math.min(dueMs, this.#dueMs ?? Number.POSITIVE_INFINITY);
    this.#wait(Number.isFinite(firstMs) ? firstMs : undefined);
  }

  #wait(dueMs: number | undefined): void {
    const { router, plan, clock } = this.#options;
    this.#dueMs = dueMs;
    this.#lookedAtMs = clock.now();
    this.#timer?.cancel();
    if (this.#isClosed || dueMs === undefined) return;
    this.#timer = clock.setTimer(Math.min(Math.max(0, dueMs - clock.now()), LOOK_AGAIN_MS), () => {
      if (this.#dueMs === undefined) return;
      // The clock was set back: no longer than it had to wait still, and no longer than to the next date.
      if (clock.now() < this.#lookedAtMs) {
        const leftMs = Math.max(0, this.#dueMs - this.#lookedAtMs);
        return this.#wait(Math.min(clock.now() + leftMs, plan.calendar.dueMs(router.name, clock.now()) ?? Infinity));
      }
      if (clock.now() < this.#dueMs) return this.#wait(this.#dueMs);
      this.#options.request();
      // The run is skipped while the byte budget is used up, so it is triggered again later.
      this.#wait(clock.now() + LOOK_AGAIN_MS);
    });
  }

  /** `hasFailed`: the last run ended early. */
  async #publish(hasFailed: boolean): Promise<void> {
    const families = await this.#describe(hasFailed);
    const { router, exposition } = this.#options;
    // The series of a router that was removed meanwhile are gone.
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

/** A profile that could not be backed up, and why. */
type FailedProfile = Extract<BackupEvent, { readonly type: 'profile-failed' }>;

/** Returns false for what another try would not change: what the router lacks or refuses, and sizes and names out of bounds. */
function isWorthRetrying(cause: unknown): boolean {
  if (!(cause instanceof CodedError) || cause.disposition === 'retry') return true;
  return cause instanceof BackupError ? cause.code === 'write' : cause instanceof RouterError && !cause.isAnswered;
}

/** Returns true if nothing was downloaded before it failed. A router can make up any number of such names. */
function isFree(cause: unknown): boolean {
  return cause instanceof BackupError && (cause.code === 'bad-name' || cause.code === 'too-many');
}

/** Families whose values change with the configuration of a router. */
const TELLING = new Set(['router_config_changes_total', 'router_profile_modified', 'router_profile_last_activated']);

/** Detects changes of a router's configuration in the results of polls. */
class ChangeWatch {
  #hash: string | undefined;
  /** By family and labels: of each family what it had last, for a router can name new profiles for ever. */
  readonly #values = new Map<string, ReadonlyMap<string, number>>();

  /** Returns true if this result differs from the previous ones. The first result is no change. */
  sees({ configHash, resources }: PollResult): boolean {
    let isChanged = false;
    if (configHash !== undefined) {
      isChanged = this.#hash !== undefined && this.#hash !== configHash;
      this.#hash = configHash;
    }
    for (const { name, samples } of resources.flatMap(({ families }) => families)) {
      if (!TELLING.has(name)) continue;
      const before = this.#values.get(name);
      const now = new Map(samples.map(({ labels, value }) => [JSON.stringify(labels), value]));
      isChanged ||= now.entries().some(([series, value]) => (before?.get(series) ?? value) !== value);
      this.#values.set(name, now);
    }
    return isChanged;
  }
}
