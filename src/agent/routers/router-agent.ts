import { type Clock, CodedError, isSelected, type Logger, openDeadline } from '../../base/index.ts';
import { type RouterSettings, toClientOptions } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import { type ArchivePool, type LogEvent, TailMemory, tailOnce, Zone } from '../../logs/index.ts';
import { type ConnectionLimit, RouterClient, RouterError, type SessionEvent } from '../../router/index.ts';
import type { Activity, CurrentRun, RunOutcome } from '../../schedule/index.ts';
import {
  ConfigurationReader,
  createLogFilesReader,
  type ModelMemory,
  type PollResult,
  type ReaderContext,
  type ReaderReading,
  StatusPoller,
} from '../../status/index.ts';
import { StoreError } from '../../store/index.ts';
import type { PaceSummary } from '../../web/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import type { RouterValues, SpoolGuard } from '../state.ts';
import { RouterStats } from '../stats/router-stats.ts';
import type { LineFeed } from '../views/line-feed.ts';
import { PollReader } from './answered-poll.ts';
import { ByteAccount } from './byte-account.ts';
import { KeptPace } from './kept-pace.ts';
import { isAsked, type RouterLifecycle } from './lifecycle-keeper.ts';
import { type BackupPlan, RouterBackup } from './router-backup.ts';
import { readRouterTime } from './router-time.ts';

/** Events about a router for the rest of the agent. */
export type RouterEvent =
  /** The router was polled. */
  | { readonly type: 'polled'; readonly isUp: boolean }
  | { readonly type: 'gap-found' }
  | { readonly type: 'mapping-failed'; readonly module: string; readonly metric: string }
  /** The state can no longer be written. */
  | { readonly type: 'store-failed'; readonly cause: unknown };

/** What may be sent to routers: in a cluster, only a replica that has a router asks it. */
export interface RouterGate {
  /** True while the router may be asked at all. */
  mayAsk(router: string): boolean;
  /** True while its logs and profiles may be read, too. */
  mayRead(router: string): boolean;
}

/** One router, and what it shares with the others. */
export interface RouterAgentOptions {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** What the operator wants of it. A router that is not asked has no activities. */
  readonly lifecycle: RouterLifecycle;
  /** True if there is a sink for its logs. */
  readonly hasSinks: boolean;
  /** Redaction and metric rules for log lines. */
  readonly lines: LineProcessing;
  /** Absent: its profiles are not backed up. */
  readonly backup: BackupPlan | undefined;
  /** Stores records and positions. */
  readonly records: SpoolGuard;
  /** Small facts about the router, kept over a restart. */
  readonly values: RouterValues;
  /** Threads that decompress rotated logs, shared by all routers. */
  readonly archives: ArchivePool;
  /** Bound of the connections to all routers. */
  readonly connections: ConnectionLimit;
  /** What routers of each model lack. */
  readonly models: ModelMemory;
  /** Says what may be sent to the router at the moment. Default: everything. */
  readonly gate?: RouterGate | undefined;
  /** Exposition that serves the router's metrics. */
  readonly exposition: FleetExposition;
  /** Gets the records that were stored. */
  readonly feed: Pick<LineFeed, 'publish'>;
  /** Clock for everything that waits or reads the time. */
  readonly clock: Clock;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Called for every event of the router. */
  readonly report: (event: RouterEvent) => void;
  /** Triggers a run of one of {@link RouterAgent.activities}. */
  readonly trigger: (key: string) => void;
}

/** Limit of one run over the logs of a router: a slow link carries some megabytes in it, and the next run continues. */
const LOGS_DEADLINE_MS = 10 * 60_000;
/**
 * Limit of one download, which polls may have to wait for. A run goes on with another log for no longer than this, so that
 * its own limit ends no download. Milliseconds.
 */
const DOWNLOAD_MS_MAX = LOGS_DEADLINE_MS / 2;
/** Logs that grow fast are read up to this many times as often as configured, but no more often than every second. */
const LOG_FLOOR_PARTS = [6, 5, 4, 3, 2];
const LOG_FLOOR_MS = 1000;
/**
 * Maximum time that logs wait for a successful poll after a failed connection, so that an unreachable router costs one
 * time-out per cycle and not two. Milliseconds.
 */
const UNREACHABLE_MS_MAX = 5 * 60_000;
/** Number of polls that a router may miss before it is down, if it is polled more rarely than its values last. */
const MISSED_POLLS = 3;
/** Key of the known configuration of a router, so that a change during a restart is detected. */
const CONFIGURATION_KEY = 'configuration';

/** Key of the resources that a router lacks, so that a restart does not ask for them. */
const CAPABILITIES_KEY = 'capabilities';

/** One router of the fleet: its client and its recurring activities. */
export class RouterAgent {
  readonly stats: RouterStats;
  readonly #options: RouterAgentOptions;
  readonly #client: RouterClient;
  readonly #bytes: ByteAccount;
  readonly #configuration: ConfigurationReader;
  readonly #poller: StatusPoller;
  readonly #backup: RouterBackup | undefined;
  readonly #zone: Zone;
  readonly #pollReader = new PollReader();
  readonly #pace: KeptPace;
  /** End of the last poll that read what a fresh one would read. Monotonic. */
  #polledAtMs = -Infinity;
  readonly #logMemory = new TailMemory();
  /** Component after which the last run over the logs yielded. */
  #logsAfter: string | undefined;
  /** True if another replica has moved the logs since their positions were loaded. */
  #isFenced = false;
  /** Time until which the logs wait because the last poll could not connect. Monotonic. */
  #unreachableUntilMs = -Infinity;
  #settings: RouterSettings;
  #lifecycle: RouterLifecycle;
  /** Runs under way: at most one of polls and one of the others. */
  readonly #runs = new Set<AbortController>();

  constructor(options: RouterAgentOptions) {
    const { settings, clock, exposition, logger, values } = options;
    this.#options = options;
    this.#settings = settings;
    this.#lifecycle = options.lifecycle;
    this.#client = new RouterClient({
      ...toClientOptions(settings),
      clock,
      report: (event) => this.#onSession(event),
      onBody: () => this.#onBody(),
      admit: options.gate && (() => this.#admit()),
      downloadMsMax: DOWNLOAD_MS_MAX,
      connectionLimit: options.connections,
    });
    this.#poller = new StatusPoller({
      modules: settings.modules,
      source: this.#client,
      readers: {
        configuration: { read: (context, signal) => this.#readConfiguration(context, signal) },
        // While logs are read, their files are listed anyway.
        ...(!this.#followsLogs && { log_files: createLogFilesReader(this.#client) }),
      },
      clock,
      intervalMs: settings.poll.intervalMs,
      deadlineMs: settings.poll.deadlineMs,
      staleAfterMs: settings.poll.staleAfterMs,
      zone: settings.timezone,
      models: options.models,
      previous: values.read(settings.name, CAPABILITIES_KEY),
    });
    // Modules may all be slower than the interval of the router.
    const { intervalMs, staleAfterMs } = settings.poll;
    const intervals = { intervalMs: Math.max(intervalMs, this.#poller.tickMs), staleAfterMs };
    this.#pace = new KeptPace({ router: settings.name, intervals, values });
    this.#bytes = new ByteAccount({
      pace: () => this.#pace.pace,
      router: settings,
      bytesPerDay: settings.byteBudget,
      statusShare: settings.byteBudgetStatusShare,
      wire: () => this.#client.wireBytes,
      exposition,
      values,
      clock,
    });
    this.stats = new RouterStats({
      settings,
      ruleFamilies: options.lines.families,
      exposition,
      logger,
      clock,
      lifecycle: () => this.#lifecycle,
      bytes: () => ({ ...this.#client.wireBytes, budget: this.#bytes.budget }),
      pace: () => this.#describePace(),
      certificate: () => this.#client.certificate,
      quietMsMax: () => Math.max(settings.poll.staleAfterMs, MISSED_POLLS * this.#poller.tickMs),
    });
    this.#configuration = new ConfigurationReader({
      source: {
        countEntries: (resource, signal) => this.#client.configuration.countEntries(resource, {}, signal),
        readConfiguration: (resource, signal) => this.#client.configuration.read(resource, {}, signal),
      },
      clock,
      previous: values.read(settings.name, CONFIGURATION_KEY),
    });
    this.#backup =
      isAsked(options.lifecycle) && options.backup
        ? new RouterBackup({
            router: settings,
            source: this.#client,
            plan: options.backup,
            exposition,
            clock,
            logger,
            request: () => options.trigger(this.#key('backup')),
          })
        : undefined;
    this.#zone = new Zone(settings.timezone);
  }

  get settings(): RouterSettings {
    return this.#settings;
  }

  /** What the operator wants of it. */
  get lifecycle(): RouterLifecycle {
    return this.#lifecycle;
  }

  /** Takes over settings of which only the state of life may differ. */
  adopt(settings: RouterSettings): void {
    this.#settings = settings;
  }

  /** Goes on in another state of life in which it is asked as before. */
  continueIn(lifecycle: RouterLifecycle): void {
    this.#lifecycle = lifecycle;
    this.stats.showLifecycle();
  }

  /** Key of the activity that polls the status. */
  get statusKey(): string {
    return this.#key('status');
  }

  /** Key of the activity that reads the logs, if it has one. */
  get logsKey(): string {
    return this.#key('logs');
  }

  /** True if the last run over the logs has left some for the next one. */
  get hasMoreLogs(): boolean {
    return this.#logsAfter !== undefined;
  }

  /**
   * True if a poll ahead of schedule is worth its bytes: the values are at least `minAgeMs` old, and the byte budget slows
   * nothing down. A poll that failed counts too, because it was paid for.
   */
  admitsFreshPoll(minAgeMs: number): boolean {
    if (this.#bytes.budget.intervalMultiplier('slow') > 1) return false;
    return this.#options.clock.monotonic() - this.#polledAtMs >= minAgeMs;
  }

  /** Returns the activities to schedule. */
  activities(): Activity[] {
    if (!isAsked(this.#lifecycle)) return [];
    const { name, logs } = this.settings;
    const { records, clock } = this.#options;
    const { budget } = this.#bytes;
    const isPutOff = () => this.#client.retryAfter !== undefined;
    const { gate } = this.#options;
    const isPaused = () => budget.isPaused || isPutOff() || gate?.mayRead(name) === false;
    const activities: Activity[] = [
      {
        key: this.statusKey,
        serialKey: name,
        isUrgent: true,
        intervalMs: this.#poller.tickMs,
        // Stretched polls leave room for signs of life, so that a dead router shows in time.
        intervalMultiplier: () =>
          Math.max(Math.min(budget.pollMultiplier(false), this.#countSignTicks()), this.#pace.pace.statusStretch),
        isPaused: () => budget.statusPart === undefined || isPutOff() || gate?.mayAsk(name) === false,
        run: (signal, current) => this.#settled(signal, (one) => this.#poll(one, current)),
      },
    ];
    if (this.#followsLogs) {
      const floorMs = toLogFloorMs(logs.intervalMs);
      activities.push({
        key: this.#key('logs'),
        serialKey: name,
        intervalMs: floorMs,
        intervalMultiplier: () => {
          const ceilingMs = logs.intervalMs * Math.max(1, this.#pace.pace.stretch / budget.intervalMultiplier('logs'));
          const wantedMs = this.#logMemory.computeIntervalMs({ floorMs, ceilingMs });
          return Math.max(1, Math.floor(wantedMs / floorMs)) * budget.intervalMultiplier('logs');
        },
        isPaused: () => isPaused() || records.isRouterHeldBack(name) || clock.monotonic() < this.#unreachableUntilMs,
        run: (signal, current) => this.#settled(signal, (one) => this.#tail(one, current.isAwaited)),
      });
    }
    const backup = this.#backup;
    if (backup) {
      activities.push({
        key: this.#key('backup'),
        serialKey: name,
        intervalMs: Number.POSITIVE_INFINITY,
        isPaused,
        run: (signal) => this.#settled(signal, (one) => backup.run(one)),
      });
    }
    return activities;
  }

  /** Starts backups and logs warnings about insecure settings. */
  start(): void {
    const { logger } = this.#options;
    const { name, url, tls } = this.settings;
    if (!isAsked(this.#lifecycle)) {
      this.stats.start(this.#bytes.budget);
      return;
    }
    if (url.startsWith('http:')) {
      logger.warn('Polling over plain HTTP: anyone on the network path can read the password', { router: name });
    }
    if (tls.insecureSkipVerify) {
      logger.warn('Any certificate is accepted: anyone on the network path can read the password', { router: name });
    }
    this.#backup?.start();
    this.stats.start(this.#bytes.budget);
  }

  /** Logs out and closes the connection. */
  async close(signal: AbortSignal): Promise<void> {
    this.#backup?.close();
    this.stats.close();
    try {
      await this.#client.close(signal);
    } finally {
      this.#bytes.settle();
      this.#bytes.close();
    }
  }

  get #followsLogs(): boolean {
    return this.#options.hasSinks && this.settings.logs.enabled;
  }

  #key(activity: 'status' | 'logs' | 'backup'): string {
    return `${this.settings.name}/${activity}`;
  }

  /** Number of intervals between two polls that ask for a sign of life: they fit into the time for which values are served. */
  #countSignTicks(): number {
    const { staleAfterMs, deadlineMs } = this.settings.poll;
    return Math.max(1, Math.floor((staleAfterMs - deadlineMs) / this.#poller.tickMs));
  }

  /** Counts the bytes of a run when it ends, whatever its outcome. */
  async #settled(signal: AbortSignal, run: (signal: AbortSignal) => Promise<RunOutcome>): Promise<RunOutcome> {
    const halt = new AbortController();
    this.#runs.add(halt);
    try {
      return await run(this.#options.gate ? AbortSignal.any([signal, halt.signal]) : signal);
    } catch (cause) {
      if (!halt.signal.aborted || signal.aborted) throw cause;
      // The router belongs to another replica now, which is nobody's failure.
      return 'done';
    } finally {
      this.#runs.delete(halt);
      if (this.#runs.size === 0) this.#client.rest();
      this.#bytes.settle();
      this.stats.recordRun(this.#bytes.budget, this.#client.retryAfter);
    }
  }

  async #poll(signal: AbortSignal, current: CurrentRun): Promise<RunOutcome> {
    const { report, clock } = this.#options;
    const { budget } = this.#bytes;
    const { pace } = this.#pace;
    // A budget that slows the status down has no bytes but for what is due, and for signs of life.
    const isShort = budget.pollMultiplier(false) > 1;
    this.stats.beginPoll();
    using turns = new DisposableStack();
    turns.use(await this.#client.takeTurn(signal));
    const before = this.#client.wireBytes;
    this.#bytes.payFrom(budget.statusPart ?? 'status');
    const result = await this.#poller
      .pollOnce(signal, {
        intervalMultiplier: (isSlow) =>
          Math.max(budget.pollMultiplier(isSlow), isSlow ? pace.stretch : pace.statusStretch),
        slowResourcesMax: pace.slowResourcesMax,
        isFresh: current.isTriggered,
        isSignWanted: isShort,
        mayExpire: isShort,
        holdsValues: (resource) => this.stats.holdsValues(resource),
      })
      .finally(() => this.#bytes.payFrom('common'));
    const { sent, received } = this.#client.wireBytes;
    const state = this.#poller.takeState();
    if (state !== undefined) this.#options.values.write(this.settings.name, CAPABILITIES_KEY, state);
    const isPutOff = this.#client.retryAfter !== undefined;
    this.stats.recordPoll(result, { sent: sent - before.sent, received: received - before.received }, isPutOff);
    this.#learnPace(result);
    // A module that is read more often than the others makes polls that leave those out.
    if (current.isTriggered || (!result.isIdle && this.#poller.tickMs >= this.settings.poll.intervalMs)) {
      this.#polledAtMs = clock.monotonic();
    }
    if (!result.isIdle) {
      this.#unreachableUntilMs = isUnreachable(result) ? clock.monotonic() + UNREACHABLE_MS_MAX : -Infinity;
    }
    for (const { module, metric } of result.resources.flatMap(({ faults }) => faults)) {
      report({ type: 'mapping-failed', module, metric });
    }
    this.#backup?.onPoll(result);
    report({ type: 'polled', isUp: result.isUp });
    // A router that names a time for the next request needs no back-off.
    return result.isUp || isPutOff ? 'done' : 'failed';
  }

  /** Learns from a poll how much the router is to be spared; a change is logged. */
  #learnPace(result: PollResult): void {
    const poll = this.#pollReader.read(result);
    const identity = { serial: result.serialNumber, firmware: result.firmwareVersion };
    if (!poll || !this.#pace.record(poll, identity)) return;
    const { level, responseSeconds, ...rest } = this.#describePace();
    const fields = { router: this.settings.name, responseSeconds, ...rest };
    if (level === 'usual') this.#options.logger.info('Router answers faster; it is asked as configured', fields);
    else this.#options.logger.warn('Router answers slowly; it is asked for less', fields);
  }

  #describePace(): PaceSummary {
    const { pace, responseMs, isSignalPoor } = this.#pace;
    const { level, stretch, statusStretch } = pace;
    const responseSeconds = responseMs === undefined ? null : Math.round(responseMs) / 1000;
    return { level, responseSeconds, isSignalPoor, stretch, statusStretch };
  }

  /** Reads the lists of the configuration, and stores their state if it has changed. */
  async #readConfiguration(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading> {
    const before = this.#configuration.state;
    try {
      return await this.#configuration.read(context, signal);
    } finally {
      const { state } = this.#configuration;
      if (state !== before) this.#options.values.write(this.settings.name, CONFIGURATION_KEY, state);
    }
  }

  async #tail(signal: AbortSignal, isAwaited: () => boolean): Promise<RunOutcome> {
    const { settings, clock, records, archives, lines, feed, report } = this.#options;
    using deadline = openDeadline(clock, LOGS_DEADLINE_MS, signal);
    const beganMs = clock.monotonic();
    try {
      if (this.#isFenced) await records.openRouter(settings.name);
      this.#isFenced = false;
      this.#logsAfter = await tailOnce(
        {
          router: settings,
          source: this.#client,
          records: {
            readPositions: (router) => records.readPositions(router),
            readFacts: (router) => records.readFacts(router),
            forgetLogs: (router, components) => records.forgetLogs(router, components),
            commit: async (...commits) => {
              await records.commit(...commits);
              for (const commit of commits) {
                if (!('lines' in commit)) continue;
                this.stats.recordLines(commit.lines);
                feed.publish(settings.name, commit.lines);
              }
            },
          },
          archives,
          clock,
          zone: this.#zone,
          readTime: (runSignal) => readRouterTime(this.#client, runSignal),
          memory: this.#logMemory,
          pause: this.#lifecycle.pause,
          start: settings.logs.start,
          matcher: lines.matcher,
          firmware: this.stats.identity.firmware,
          serial: this.stats.identity.serial,
          isWanted: (component) => isSelected(component, settings.logs.components),
          report: (event) => this.#onLog(event),
          shouldYield: () =>
            isAwaited() ||
            clock.monotonic() - beganMs > DOWNLOAD_MS_MAX ||
            this.#bytes.budget.isPaused ||
            this.#client.retryAfter !== undefined,
          after: this.#logsAfter,
        },
        deadline.signal,
      );
      this.stats.recordLogsRead();
      return 'done';
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (cause instanceof StoreError && cause.code === 'fenced') {
        // Not a failure of this router: its new owner reads on where the log stands.
        this.#isFenced = true;
        return 'done';
      }
      this.stats.recordLogsFailed(cause);
      if (cause instanceof StoreError && cause.code === 'broken') report({ type: 'store-failed', cause });
      // A full spool, an answered refusal or a budget that is used up does not justify a long back-off.
      const isRouterGone = cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget';
      return isRouterGone || !(cause instanceof CodedError) ? 'failed' : 'done';
    }
  }

  /** Ends all runs instead of a request that may not be sent. */
  #admit(): Error | undefined {
    if (this.#options.gate?.mayAsk(this.settings.name) !== false) return undefined;
    const refusal = new Error('This replica does not have the router any more');
    for (const halt of this.#runs) halt.abort(refusal);
    return refusal;
  }

  /** Counts bytes at once, so that one long answer cannot use up more than the day's budget. */
  #onBody(): RouterError | undefined {
    this.#bytes.noteFlow();
    if (this.#client.isTurnAwaited) this.stats.recordReached();
    if (!this.#bytes.isSpent) return undefined;
    return new RouterError('budget', 'The byte budget of this day is used up', { disposition: 'retry' });
  }

  #onSession(event: SessionEvent): void {
    this.stats.record(event);
    // A new session may mean that the router was restarted, perhaps with other firmware.
    if (event.type === 'session-opened') this.#poller.renewIdentity();
  }

  #onLog(event: LogEvent): void {
    this.stats.record(event);
    if (event.type === 'log-gap-found' && event.reason !== 'skipped') this.#options.report({ type: 'gap-found' });
  }
}

function isUnreachable({ isUp, error }: PollResult): boolean {
  return !isUp && error instanceof RouterError && error.code === 'connect' && error.isUnsent;
}

/** Returns the shortest interval for logs that the router will soon delete: a whole part of the configured one, so that the scheduled times stay. */
function toLogFloorMs(intervalMs: number): number {
  const parts = LOG_FLOOR_PARTS.find((count) => intervalMs % count === 0 && intervalMs / count >= LOG_FLOOR_MS) ?? 1;
  return intervalMs / parts;
}
