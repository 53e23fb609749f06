import { type Clock, type Logger, renderErrorChain, type Timer } from '../../base/index.ts';
import { type RouterSettings, toClientOptions } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { ArchivePool } from '../../logs/index.ts';
import type { NameLookup } from '../../net/index.ts';
import { type ConnectionLimit, RouterClient, RouterError } from '../../router/index.ts';
import type { Activity, PaceIntervals, RunOutcome } from '../../schedule/index.ts';
import type { StatusPoller } from '../../status/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import { RouterRecorder } from '../router-state/router-recorder.ts';
import type { RouterEvent } from '../router-state/router-state.ts';
import type { SpoolGuard } from '../spool-guard.ts';
import type { LineFeed } from '../views/recent-records.ts';
import { ByteAccount } from './byte-account.ts';
import { KeptPace, type RouterValues } from './kept-pace.ts';
import { isAsked, type RouterLifecycle } from './lifecycle-keeper.ts';
import { DOWNLOAD_MS_MAX, LogReading } from './log-reading.ts';
import { type BackupPlan, RouterBackup } from './router-backup.ts';
import { createPoller, StatusPolling } from './status-polling.ts';

/** Decides whether a router may be asked: in a cluster, only by the replica that owns it. */
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
  /** Life-cycle state set by the operator. A router that is not asked has no activities. */
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
  /** Called before each piece of a download, which waits for it: the downloads of all routers share the main thread. Default: not called. */
  readonly beforePiece?: (() => Promise<void>) | undefined;
  /** Resolves the names of all routers. Default: the system's own lookup. */
  readonly names?: NameLookup | undefined;
  /** Says what may be sent to the router at the moment. Default: everything. */
  readonly gate?: RouterGate | undefined;
  /** Exposition that serves the router's metrics. */
  readonly exposition: FleetExposition;
  /** Gets the records that were stored. */
  readonly feed: Pick<LineFeed, 'prepare'>;
  /** Clock for everything that waits or reads the time. */
  readonly clock: Clock;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Called for every event of the router. */
  readonly report: (event: RouterEvent) => void;
  /** Triggers a run of one of {@link RouterAgent.activities}. */
  readonly trigger: (key: string) => void;
}

/** A budget is compared this often with the bytes on the wire, besides at each piece of a body. Milliseconds. */
const FLOW_MS = 250;
/** A run ends when so much has come behind the end of the budget: the answer that was under way is not cut before. Bytes. */
const OVERDRAFT_BYTES = 64 * 1024;

/**
 * One router of the fleet: its connection, its byte budget and its state of life, and when its activities may run. What an
 * activity does is in {@link StatusPolling}, {@link LogReading} and {@link RouterBackup}.
 */
export class RouterAgent {
  readonly recorder: RouterRecorder;
  readonly #options: RouterAgentOptions;
  readonly #client: RouterClient;
  readonly #poller: StatusPoller;
  readonly #pace: KeptPace;
  readonly #bytes: ByteAccount;
  readonly #polling: StatusPolling;
  /** Absent: its logs are not read. */
  readonly #logs: LogReading | undefined;
  /** Redaction and metric rules for its log lines. */
  #lines: LineProcessing;
  /** Absent: its profiles are not backed up. */
  readonly #backup: RouterBackup | undefined;
  #settings: RouterSettings;
  #lifecycle: RouterLifecycle;
  /** Runs under way, by the key of their activity: at most one of polls and one of the others. */
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
    const pace = new KeptPace({ router: settings.name, intervals: toPaceIntervals(settings, poller), values });
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
    const recorder = new RouterRecorder({
      settings,
      ruleFamilies: options.lines.families,
      exposition,
      logger,
      clock,
      lifecycle,
      bytes: () => ({ ...client.wireBytes, budget: bytes.budget }),
      pace: () => pace.summarize(),
      certificate: () => client.certificate,
      report: (event) => this.#onEvent(event),
    });
    this.recorder = recorder;
    this.#polling = new StatusPolling({
      settings,
      client,
      poller,
      pace,
      bytes,
      recorder,
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

  /** Life-cycle state set by the operator. */
  get lifecycle(): RouterLifecycle {
    return this.#lifecycle;
  }

  /** Takes over settings of which only the state of life may differ. */
  adopt(settings: RouterSettings): void {
    this.#settings = settings;
  }

  /**
   * Takes over the redaction and metric rules for log lines. A run over the logs that is under way ends, so that no line is stored by
   * the rules of before; the next one goes on where it stood.
   */
  useLines(lines: LineProcessing): void {
    if (lines.matcher.text === this.#lines.matcher.text) return;
    this.#lines = lines;
    this.recorder.useRules(lines.families);
    this.#runs.get(this.logsKey)?.abort(new Error('The rules for log lines have changed'));
  }

  /** Goes on in another state of life in which it is asked as before. */
  continueIn(lifecycle: RouterLifecycle): void {
    this.#lifecycle = lifecycle;
    this.recorder.showLifecycle();
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
    return this.#logs?.hasMore === true;
  }

  /** True if the last run over the logs could not read one of their files. */
  get hasLogFaults(): boolean {
    return this.#logs?.hasFaults === true;
  }

  /** Returns true if a poll ahead of schedule is worth its bytes: see {@link StatusPolling.admitsFresh}. */
  get admitsFreshPoll(): boolean {
    return this.#polling.admitsFresh;
  }

  /** Returns the activities to schedule. */
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

  /** Logs out and closes the connection. */
  async close(signal: AbortSignal): Promise<void> {
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

  /** Counts the bytes of a run when it ends, whatever its outcome. */
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
      // The router belongs to another replica now, its lines are read by other rules, or its budget is used up: nobody's failure.
      return 'done';
    } finally {
      endWatch();
      this.#runs.delete(key);
      if (this.#runs.size === 0) this.#client.rest();
      this.#bytes.settle();
      this.recorder.record({ type: 'limits-read', budget: this.#bytes.budget, retryAfter: this.#client.retryAfter });
    }
  }

  /** Ends a run when the budget is used up by what is no body: heads, interim and login answers, what stands between chunks. */
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

  /** Ends all runs instead of a request that may not be sent. */
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
      logger.info('Router answers on a second connection during downloads; polls go there meanwhile', { router });
      return;
    }
    const error = renderErrorChain(cause);
    logger.info('Router no longer answers on a second connection; polls wait for downloads', { router, error });
  }

  /** Counts bytes at once, so that one long answer cannot use up more than the day's budget. */
  #onBody(): RouterError | undefined {
    if (this.#client.isTurnAwaited) this.recorder.record({ type: 'reached', quietMs: this.#polling.quietMs });
    return this.#onFlow();
  }

  #onFlow(): RouterError | undefined {
    this.#bytes.noteFlow();
    if (!this.#bytes.isSpent) return undefined;
    return new RouterError('budget', 'The byte budget of this day is used up', { disposition: 'retry' });
  }

  #onEvent(event: RouterEvent): void {
    if (event.type === 'polled') this.#backup?.onPoll(event.result);
    // A new session may mean that the router was restarted, perhaps with other firmware, and may have other rights.
    if (event.type === 'session-opened') {
      this.#poller.renewIdentity();
      this.#logs?.noteSession();
    }
    this.#options.report(event);
  }
}

function toPaceIntervals({ poll }: RouterSettings, { tickMs }: StatusPoller): PaceIntervals {
  // Modules may all be slower than the interval of the router.
  return { intervalMs: Math.max(poll.interval, tickMs), staleAfterMs: poll.stale_after };
}
