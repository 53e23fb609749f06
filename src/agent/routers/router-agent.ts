import { type Clock, isSelected, type Logger, renderErrorChain, type Timer } from '../../base/index.ts';
import { type ConnectionLimit, RouterClient, RouterError } from '../../client/index.ts';
import { type RouterSettings, toClientOptions } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { ArchivePool } from '../../logs/index.ts';
import type { NameLookup } from '../../net/index.ts';
import type { Activity, RunOutcome, ThrottleIntervals } from '../../schedule/index.ts';
import type { StatusPoller } from '../../status/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import { RouterRecorder } from '../router-state/router-recorder.ts';
import type { RouterEvent } from '../router-state/router-state.ts';
import type { SpoolGuard } from '../spool-guard.ts';
import type { LineFeed } from '../views/recent-records.ts';
import { AdaptiveInterval, type RouterValues } from './adaptive-interval.ts';
import { ByteAccount } from './byte-account.ts';
import { DataPlans } from './data-plans.ts';
import { JournalKeeper, type JournalTerms } from './journal-keeper.ts';
import { isAsked, type RouterLifecycle } from './lifecycle-keeper.ts';
import { DOWNLOAD_MS_MAX, LogReading } from './log-reading.ts';
import { type BackupPlan, RouterBackup } from './router-backup.ts';
import { createPoller, StatusPolling } from './status-polling.ts';

/** In a cluster, only the owner of a router may send requests to it. */
interface RouterGate {
  /** True while requests may be sent. */
  mayAsk(router: string): boolean;
  /** True while logs and profiles may be read too. */
  mayRead(router: string): boolean;
}

export interface RouterAgentOptions {
  readonly settings: RouterSettings;
  /** Set by the operator. A router that is not polled has no activities. */
  readonly lifecycle: RouterLifecycle;
  readonly hasSinks: boolean;
  readonly lines: LineProcessing;
  /** Absent: no backups. */
  readonly backup: BackupPlan | undefined;
  readonly records: SpoolGuard;
  readonly values: RouterValues;
  readonly journal: JournalTerms;
  readonly archives: ArchivePool;
  readonly connections: ConnectionLimit;
  /** Called and awaited before each piece of a download: all downloads share the main thread. Default: not called. */
  readonly beforePiece?: (() => Promise<void>) | undefined;
  /** Resolves the names of all routers. Default: the system's own lookup. */
  readonly names?: NameLookup | undefined;
  /** Limits requests to the router. Default: no limit. */
  readonly gate?: RouterGate | undefined;
  readonly exposition: FleetExposition;
  readonly feed: Pick<LineFeed, 'prepare'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly report: (event: RouterEvent) => void;
  readonly trigger: (key: string) => void;
}

/** Interval of budget checks in addition to each piece of a body. Milliseconds. */
const FLOW_MS = 250;
/** A poll in progress may have read the values before the router asked for another one. Milliseconds. */
const RUNNING_MS = 1000;
/** Bytes beyond the budget after which a run is aborted, so that the current answer can end. */
const OVERDRAFT_BYTES = 64 * 1024;

/**
 * One router of the fleet: its connection, byte budget and lifecycle state, and when its activities may run. The
 * activities are {@link StatusPolling}, {@link LogReading} and {@link RouterBackup}.
 */
export class RouterAgent {
  readonly recorder: RouterRecorder;
  readonly #options: RouterAgentOptions;
  readonly #client: RouterClient;
  readonly #poller: StatusPoller;
  readonly #pace: AdaptiveInterval;
  readonly #bytes: ByteAccount;
  readonly #polling: StatusPolling;
  readonly #journal: JournalKeeper;
  readonly #logs: LogReading | undefined;
  #lines: LineProcessing;
  readonly #backup: RouterBackup | undefined;
  #settings: RouterSettings;
  #lifecycle: RouterLifecycle;
  /** Waits until the poll that was requested may begin. */
  #request: Timer | undefined;
  /** By the key of their activity: at most one poll and one other run. */
  readonly #runs = new Map<string, AbortController>();

  constructor(options: RouterAgentOptions) {
    const { settings, clock, exposition, logger, values } = options;
    this.#options = options;
    this.#settings = settings;
    this.#lifecycle = options.lifecycle;
    this.#lines = options.lines;
    const client = new RouterClient({
      ...toClientOptions(settings),
      clock,
      report: (event) => this.recorder.record(event),
      onBody: () => this.#onBody(),
      admit: options.gate && (() => this.#admit()),
      downloadMsMax: DOWNLOAD_MS_MAX,
      beforePiece: options.beforePiece,
      connectionLimit: options.connections,
      lookup: options.names?.lookup,
      onSecondConnection: (answers, cause) => this.#onSecondConnection(answers, cause),
    });
    this.#client = client;
    const followsLogs = options.hasSinks && settings.logs.enabled;
    const poller = createPoller({ settings, client, followsLogs, values, clock });
    this.#poller = poller;
    const pace = new AdaptiveInterval({
      router: settings.name,
      intervals: toThrottleIntervals(settings, poller),
      values,
    });
    this.#pace = pace;
    const bytes = new ByteAccount({
      router: settings,
      pace,
      client,
      bytesPerDay: settings.byte_budget.perDay,
      statusShare: settings.byte_budget.statusShare,
      exposition,
      values,
      clock,
    });
    this.#bytes = bytes;
    const lifecycle = () => this.#lifecycle;
    const hasPlans = settings.data_plans.length > 0 && isAsked(options.lifecycle);
    const plans = hasPlans ? new DataPlans({ router: settings, bytes, exposition, values, clock }) : undefined;
    const recorder = new RouterRecorder({
      settings,
      ruleFamilies: options.lines.families,
      exposition,
      logger,
      clock,
      lifecycle,
      bytes: () => ({ ...client.wireBytes, budget: bytes.budget }),
      account: bytes,
      plans,
      pace: () => pace.summarize(),
      certificate: () => client.certificate,
      report: (event) => this.#onEvent(event),
    });
    this.recorder = recorder;
    this.#journal = new JournalKeeper({ ...options.journal, settings, records: options.records, recorder });
    this.#polling = new StatusPolling({
      settings,
      client,
      poller,
      pace,
      bytes,
      plans,
      recorder,
      isFollowed: (one) => followsLogs && isAsked(options.lifecycle) && isSelected(one, settings.logs.components),
      values,
      clock,
      logger,
    });
    if (followsLogs) {
      const { records, archives, feed } = options;
      this.#logs = new LogReading({
        ...{ settings, client, budget: bytes.budget, recorder, lifecycle, records, archives, feed, clock },
        lines: () => this.#lines,
        onOtherDevice: () => poller.renewIdentity(),
      });
    }
    if (isAsked(options.lifecycle) && options.backup) {
      this.#backup = new RouterBackup({
        ...{ router: settings, source: client, plan: options.backup, exposition, clock, logger },
        request: () => options.trigger(this.#key('backup')),
      });
    }
  }

  get settings(): RouterSettings {
    return this.#settings;
  }

  get lifecycle(): RouterLifecycle {
    return this.#lifecycle;
  }

  /** Replaces the settings; only the lifecycle state may differ. */
  adopt(settings: RouterSettings): void {
    this.#settings = settings;
  }

  /**
   * Replaces the redaction and metric rules for log lines. Aborts a run over the logs, so that no line is stored by the
   * previous rules; the next run continues from the stored position.
   */
  useLines(lines: LineProcessing): void {
    if (lines.matcher.text === this.#lines.matcher.text) return;
    this.#lines = lines;
    this.recorder.useRules(lines.families);
    this.#runs.get(this.logsKey)?.abort(new Error('The rules for log lines have changed'));
  }

  /** Enters another lifecycle state that is polled or not as before. */
  continueIn(lifecycle: RouterLifecycle): void {
    this.#lifecycle = lifecycle;
    this.recorder.showLifecycle();
  }

  get statusKey(): string {
    return this.#key('status');
  }

  get logsKey(): string {
    return this.#key('logs');
  }

  /** True if the last run over the logs has left some for the next one. */
  get hasMoreLogs(): boolean {
    return this.#logs?.hasMore === true;
  }

  /** True if the last run over the logs could not read one of their files. */
  get hasLogFaults(): boolean {
    return this.#logs?.hasFaults === true;
  }

  /** True if a poll ahead of schedule is worth its bytes: see {@link StatusPolling.admitsFresh}. */
  get admitsFreshPoll(): boolean {
    return this.#polling.admitsFresh;
  }

  /**
   * Requests a poll as soon as {@link admitsFreshPoll} permits one. Further requests before a poll has begun have no effect.
   */
  requestPoll(): void {
    if (this.#request) return;
    const waitMs = this.#runs.has(this.statusKey) ? RUNNING_MS : this.#polling.freshWaitMs;
    if (waitMs <= 0) {
      if (this.admitsFreshPoll) this.#options.trigger(this.statusKey);
      return;
    }
    this.#request = this.#options.clock.setTimer(waitMs, () => {
      this.#endRequest();
      this.requestPoll();
    });
  }

  #endRequest(): void {
    this.#request?.cancel();
    this.#request = undefined;
  }

  activities(): Activity[] {
    if (!isAsked(this.#lifecycle)) return [];
    const { name } = this.settings;
    const { gate, records } = this.#options;
    const { budget } = this.#bytes;
    const isPutOff = () => this.#client.retryAfter !== undefined;
    const isPaused = () => budget.isPaused || isPutOff() || gate?.mayRead(name) === false;
    const [polling, logs, backup] = [this.#polling, this.#logs, this.#backup];
    const activities: Activity[] = [
      {
        key: this.statusKey,
        serialKey: name,
        isPoll: true,
        intervalMs: this.#poller.tickMs,
        intervalMultiplier: () => polling.findMultiplier(),
        isPaused: () => budget.statusPart === undefined || isPutOff() || gate?.mayAsk(name) === false,
        run: (signal, current) => this.#settled(this.statusKey, signal, (one) => polling.run(one, current)),
      },
    ];
    if (logs) {
      activities.push({
        key: this.logsKey,
        serialKey: name,
        intervalMs: logs.floorMs,
        intervalMultiplier: () => logs.findMultiplier(this.#pace.pace.stretch),
        isPaused: () => isPaused() || records.isRouterHeldBack(name) || polling.isUnreachable || logs.isForbidden,
        run: (signal, current) => this.#settled(this.logsKey, signal, (one) => logs.run(one, current.isAwaited)),
      });
    }
    if (backup) {
      activities.push({
        key: this.#key('backup'),
        serialKey: name,
        intervalMs: Number.POSITIVE_INFINITY,
        isPaused,
        run: (signal) => this.#settled(this.#key('backup'), signal, (one) => backup.run(one)),
      });
    }
    return activities;
  }

  /** Starts backups and logs warnings about insecure settings. */
  start(): void {
    const { logger } = this.#options;
    const { name, url, tls } = this.settings;
    if (!isAsked(this.#lifecycle)) {
      this.recorder.start();
      return;
    }
    if (url.startsWith('http:')) {
      logger.warn('Polling over plain HTTP: anyone on the network path can read the password', { router: name });
    }
    if (tls.insecure_skip_verify === true) {
      logger.warn('Any certificate is accepted: anyone on the network path can read the password', { router: name });
    }
    this.#backup?.start();
    this.recorder.start();
  }

  /** Stores the history, logs out and closes the connection. */
  async close(signal: AbortSignal): Promise<void> {
    this.#endRequest();
    // A stop that takes too long goes on without the rest.
    if (!signal.aborted) this.#polling.close();
    this.#backup?.close();
    this.recorder.close();
    try {
      await this.#client.close(signal);
    } finally {
      this.#bytes.settle();
      this.#bytes.close();
    }
  }

  #key(activity: 'status' | 'logs' | 'backup'): string {
    return `${this.settings.name}/${activity}`;
  }

  async #settled(
    key: string,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<RunOutcome>,
  ): Promise<RunOutcome> {
    const halt = new AbortController();
    this.#runs.set(key, halt);
    const endWatch = this.#watchBudget(halt);
    try {
      return await run(AbortSignal.any([signal, halt.signal]));
    } catch (cause) {
      if (!halt.signal.aborted || signal.aborted) throw cause;
      // Not a failure: another replica owns the router, the rules for lines have changed, or the budget is used up.
      return 'done';
    } finally {
      endWatch();
      this.#runs.delete(key);
      if (this.#runs.size === 0) this.#client.rest();
      this.#bytes.settle();
      // Lines that waited at the start are read by now.
      const isUsual = key === (this.#logs ? this.logsKey : this.statusKey) && !this.hasMoreLogs && !this.hasLogFaults;
      if (isUsual) this.#bytes.beginSample();
      this.recorder.record({ type: 'limits-read', budget: this.#bytes.budget, retryAfter: this.#client.retryAfter });
    }
  }

  /** Covers bytes outside of bodies: headers, interim and login answers, chunk framing. */
  #watchBudget(run: AbortController): () => void {
    if (this.#settings.byte_budget.perDay === 0) return () => {};
    const { clock } = this.#options;
    let timer: Timer | undefined;
    let spentBytes: number | undefined;
    const look = () => {
      const fault = this.#onFlow();
      const { bytes } = this.#bytes.budget.used;
      spentBytes = fault && (spentBytes ?? bytes);
      if (spentBytes !== undefined && bytes - spentBytes > OVERDRAFT_BYTES) run.abort(fault);
      else timer = clock.setTimer(FLOW_MS, look);
    };
    timer = clock.setTimer(FLOW_MS, look);
    return () => timer?.cancel();
  }

  #admit(): Error | undefined {
    if (this.#options.gate?.mayAsk(this.settings.name) !== false) return undefined;
    const refusal = new Error('This replica does not have the router any more');
    for (const halt of this.#runs.values()) halt.abort(refusal);
    return refusal;
  }

  #onSecondConnection(answers: boolean, cause: unknown): void {
    const { logger } = this.#options;
    const router = this.#settings.name;
    if (answers) {
      logger.info('Router answers on a second connection during downloads; polls use it', { router });
      return;
    }
    const error = renderErrorChain(cause);
    logger.info('Router no longer answers on a second connection; polls wait for downloads', { router, error });
  }

  /** Budgets are checked for each piece, so that one long answer cannot use up more than the day's bytes. */
  #onBody(): RouterError | undefined {
    if (this.#client.isSlotAwaited) this.recorder.record({ type: 'reached', quietMs: this.#polling.quietMs });
    return this.#onFlow();
  }

  #onFlow(): RouterError | undefined {
    this.#bytes.countFlow();
    if (!this.#bytes.isSpent) return undefined;
    return new RouterError('budget', 'The byte budget of this day is used up', { disposition: 'retry' });
  }

  #onEvent(event: RouterEvent): void {
    if (event.type === 'poll-begun') this.#endRequest();
    if (event.type === 'polled') this.#backup?.onPoll(event.result);
    // A new session may mean that the router was restarted, perhaps with other firmware, and may have other rights.
    if (event.type === 'session-opened') {
      this.#poller.renewIdentity();
      this.#logs?.onSession();
    }
    // At the end of each run, and when none has ended in time.
    if (['limits-read', 'quiet', 'paused-or-retired'].includes(event.type)) void this.#journal.store();
    this.#options.report(event);
  }
}

function toThrottleIntervals({ poll }: RouterSettings, { tickMs }: StatusPoller): ThrottleIntervals {
  // Modules may all be slower than the interval of the router.
  return { intervalMs: Math.max(poll.interval, tickMs), staleAfterMs: poll.stale_after };
}
