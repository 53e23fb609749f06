import type { Clock, Logger } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { RouterCalls, RouterClient } from '../../router/index.ts';
import type { CurrentRun, RunOutcome } from '../../schedule/index.ts';
import {
  ConfigurationReader,
  type ConfigurationSource,
  createLogFilesReader,
  type PollResult,
  type ReaderContext,
  type ReaderReading,
  StatusPoller,
  type StatusReader,
} from '../../status/index.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import type { ByteAccount } from './byte-account.ts';
import type { KeptPace, RouterValues } from './kept-pace.ts';

/** Number of polls that a router may miss before it is down, if it is polled more rarely than its values last. */
const MISSED_POLLS = 3;
/** A person who reloads a page wants newer values than these; ten scrapers at once do not. */
const FRESH_AGE_MS_MIN = 10_000;
/** Key of the known configuration of a router, so that a change during a restart is detected. */
const CONFIGURATION_KEY = 'configuration';
/** Key of the resources that a router lacks, so that a restart does not ask for them. */
const CAPABILITIES_KEY = 'capabilities';

/** One router, and what its poller needs. */
interface PollerOptions {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Reads from the router. */
  readonly client: RouterClient;
  /** True if its logs are read, which lists their files anyway. */
  readonly followsLogs: boolean;
  /** Small facts about the router, kept over a restart. */
  readonly values: RouterValues;
  /** Clock of the poller. */
  readonly clock: Clock;
}

/** Creates the poller of a router, which knows what was stored of the router before a restart. */
export function createPoller({ settings, client, followsLogs, values, clock }: PollerOptions): StatusPoller {
  const { name, poll } = settings;
  return new StatusPoller({
    modules: settings.modules,
    source: client.control,
    readers: {
      configuration: new KeptConfiguration(name, client.control, values, clock),
      ...(!followsLogs && { log_files: createLogFilesReader(client.control) }),
    },
    clock,
    intervalMs: poll.interval,
    deadlineMs: poll.deadline,
    staleAfterMs: poll.stale_after,
    zone: settings.timezone,
    previous: values.read(name, CAPABILITIES_KEY),
  });
}

/** Reads the configuration of a router, and keeps what is known of it over a restart. */
class KeptConfiguration implements StatusReader, ConfigurationSource {
  readonly #router: string;
  readonly #calls: RouterCalls;
  readonly #values: RouterValues;
  readonly #reader: ConfigurationReader;

  constructor(router: string, calls: RouterCalls, values: RouterValues, clock: Clock) {
    this.#router = router;
    this.#calls = calls;
    this.#values = values;
    this.#reader = new ConfigurationReader({ source: this, clock, previous: values.read(router, CONFIGURATION_KEY) });
  }

  countEntries(resource: string, signal: AbortSignal): Promise<number> {
    return this.#calls.configuration.countEntries(resource, {}, signal);
  }

  readConfiguration(resource: string, signal: AbortSignal): Promise<unknown> {
    return this.#calls.configuration.read(resource, {}, signal);
  }

  async read(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading> {
    const before = this.#reader.state;
    try {
      return await this.#reader.read(context, signal);
    } finally {
      const { state } = this.#reader;
      if (state !== before) this.#values.write(this.#router, CONFIGURATION_KEY, state);
    }
  }
}

/** One router, and what its polls need. */
interface StatusPollingOptions extends Pick<PollerOptions, 'settings' | 'client' | 'values' | 'clock'> {
  /** Made by {@link createPoller}. */
  readonly poller: StatusPoller;
  /** The pace at which the router is asked. */
  readonly pace: KeptPace;
  /** Pays for the polls. */
  readonly bytes: ByteAccount;
  /** Gets the results. */
  readonly recorder: RouterRecorder;
  /** The agent's own log. */
  readonly logger: Logger;
}

/** The polls of one router's status, one by one, and what follows from each for the next one. */
export class StatusPolling {
  readonly #options: StatusPollingOptions;
  /** Number of intervals between two polls that ask for a sign of life: they fit into the time for which values are served. */
  readonly #signTicks: number;

  constructor(options: StatusPollingOptions) {
    this.#options = options;
    const { stale_after: staleAfterMs, deadline: deadlineMs } = options.settings.poll;
    this.#signTicks = Math.max(1, Math.floor((staleAfterMs - deadlineMs) / options.poller.tickMs));
  }

  /** Time without a successful poll after which the router is down and its values expire. Milliseconds. */
  get quietMs(): number {
    const { settings, poller } = this.#options;
    return Math.max(settings.poll.stale_after, MISSED_POLLS * poller.tickMs);
  }

  /** Returns the factor of the poller's interval with which the next poll is due. */
  findMultiplier(): number {
    const { bytes, pace } = this.#options;
    // Stretched polls leave room for signs of life, so that a dead router shows in time.
    return Math.max(Math.min(bytes.budget.pollMultiplier(false), this.#signTicks), pace.pace.statusStretch);
  }

  /** True for some minutes after a poll that could not connect or log in. */
  get isUnreachable(): boolean {
    const { clock, recorder } = this.#options;
    return clock.monotonic() < recorder.state.unreachableUntilMs;
  }

  /**
   * True if a poll ahead of schedule is worth its bytes: the values are at least {@link FRESH_AGE_MS_MIN} old, and the byte
   * budget slows nothing down. A poll that failed counts too, because it was paid for.
   */
  get admitsFresh(): boolean {
    const { bytes, clock, recorder } = this.#options;
    const ageMs = clock.monotonic() - recorder.state.wholePollMs;
    return bytes.budget.intervalMultiplier('slow') <= 1 && ageMs >= FRESH_AGE_MS_MIN;
  }

  /** Polls the router once. */
  async run(signal: AbortSignal, { isTriggered }: CurrentRun): Promise<RunOutcome> {
    const { client, recorder, poller, pace, settings } = this.#options;
    recorder.record({ type: 'poll-begun' });
    const { result, before } = await client.inTurn(signal, async (turn, isBeside) => {
      const { wireBytes } = client;
      return { result: await this.#read(turn, isTriggered, isBeside), before: wireBytes };
    });
    const { sent, received } = client.wireBytes;
    const isTls = settings.url.startsWith('https:');
    this.#keepState();
    const isPutOff = client.retryAfter !== undefined;
    recorder.record({
      type: 'polled',
      result,
      wire: { isTls, sent: sent - before.sent, received: received - before.received },
      isPutOff,
      // A module that is read more often than the others makes polls that leave those out.
      isWhole: isTriggered || (!result.isIdle && poller.tickMs >= settings.poll.interval),
      quietMs: this.quietMs,
      certificateNotAfterMs: client.certificate?.notAfterMs,
    });
    if (pace.learn(result, recorder.state.device)) this.#logPace();
    // A router that names a time for the next request needs no back-off.
    return result.isUp || isPutOff ? 'done' : 'failed';
  }

  /**
   * Reads what is due, or with `isFresh` everything, and has its part of the byte budget pay. The bytes of a download beside
   * it cannot be told apart, so the common part pays for both.
   */
  async #read(signal: AbortSignal, isFresh: boolean, isBeside: boolean): Promise<PollResult> {
    const { poller, bytes, recorder, pace: kept } = this.#options;
    const { budget } = bytes;
    const { pace } = kept;
    // A budget that slows the status down has no bytes but for what is due, and for signs of life.
    const isShort = budget.pollMultiplier(false) > 1;
    if (!isBeside) bytes.payFrom(budget.statusPart ?? 'status');
    try {
      return await poller.pollOnce(signal, {
        intervalMultiplier: (isSlow) =>
          Math.max(budget.pollMultiplier(isSlow), isSlow ? pace.stretch : pace.statusStretch),
        slowResourcesMax: pace.slowResourcesMax,
        isFresh,
        isSignWanted: isShort,
        mayExpire: isShort,
        holdsValues: (resource) => recorder.holdsValues(resource),
      });
    } finally {
      bytes.payFrom('common');
    }
  }

  /** Stores what the router lacks, if that has changed. */
  #keepState(): void {
    const { poller, values, settings } = this.#options;
    const state = poller.takeState();
    if (state !== undefined) values.write(settings.name, CAPABILITIES_KEY, state);
  }

  #logPace(): void {
    const { pace, settings, logger } = this.#options;
    const { level, responseSeconds, ...rest } = pace.summarize();
    const fields = { router: settings.name, responseSeconds, ...rest };
    if (level === 'usual') logger.info('Router answers faster; it is asked as configured', fields);
    else logger.warn('Router answers slowly; it is asked for less', fields);
  }
}
