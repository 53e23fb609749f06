import { type Clock, hashToUnit, type Logger, type SteppedClock } from '../../base/index.ts';
import type { RouterClient } from '../../client/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { EVENTS_LOG, type Store } from '../../model/index.ts';
import type { CurrentRun, RunOutcome } from '../../schedule/index.ts';
import {
  ComplianceReader,
  ConfigurationReader,
  type ConfigurationSource,
  createLogFilesReader,
  type DocumentSource,
  GenericReader,
  type PollResult,
  type ReaderContext,
  type ReaderReading,
  StatusPoller,
  type StatusReader,
} from '../../status/index.ts';
import { reduceRouter } from '../router-state/reduce-router.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import { RouterState } from '../router-state/router-state.ts';
import { renderStoredHistory } from '../router-state/stored-history.ts';
import type { AdaptiveInterval, RouterValues } from './adaptive-interval.ts';
import type { ByteAccount } from './byte-account.ts';
import type { DataPlans } from './data-plans.ts';

/** Polls that may fail before a router is down, if its interval exceeds the time for which values are served. */
const MISSED_POLLS = 3;
/**
 * Minimum age of values before a fresh poll: enough for a person who reloads a page, and bounds concurrent scrapers.
 */
const FRESH_AGE_MS_MIN = 10_000;
/** Stored so that a change during a restart is detected. */
const CONFIGURATION_KEY = 'configuration';
const GENERIC_KEY = 'generic';
const COMPLIANCE_KEY = 'compliance';
/** A resource with single-valued fields and its scheme is far smaller. */
const FIELDS_BYTES_MAX = 64 * 1024;
/** Stored so that a restart does not request resources that the router lacks. */
const CAPABILITIES_KEY = 'capabilities';
const HISTORY_KEY = 'history';
/** Polls of a past: one for each slot of the history. Milliseconds. */
const [STEPS, STEP_MS] = [480, 3 * 60_000];
const POLLED = { wire: { isTls: true, sent: 0, received: 0 }, isPutOff: false, isWhole: true, quietMs: STEP_MS };
/** A crash loses at most this much of the history. Milliseconds. */
const HISTORY_WRITE_MS = 5 * 60_000;

interface PollerOptions {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
  /** True if its logs are read, which lists their files anyway. */
  readonly followsLogs: boolean;
  readonly values: RouterValues;
  readonly clock: Clock;
}

export function createPoller({ settings, client, followsLogs, values, clock }: PollerOptions): StatusPoller {
  const { name, poll, modules, expect: rules } = settings;
  const { control } = client;
  const configuration: ConfigurationSource = {
    countEntries: (resource, signal) => control.configuration.countEntries(resource, {}, signal),
    readConfiguration: (resource, signal) => control.configuration.read(resource, {}, signal),
  };
  const toKept = (key: string) => ({ clock, previous: values.read(name, key) });
  const keep = (key: string, reader: StatusReader & { readonly state: string }) =>
    new KeptReader(reader, (state) => values.write(name, key, state));
  return new StatusPoller({
    modules,
    source: control,
    readers: {
      configuration: keep(
        CONFIGURATION_KEY,
        new ConfigurationReader({ source: configuration, ...toKept(CONFIGURATION_KEY) }),
      ),
      ...(modules.some(({ reader }) => reader === 'generic') && {
        generic: keep(GENERIC_KEY, new GenericReader({ source: control, modules, ...toKept(GENERIC_KEY) })),
      }),
      ...(rules.length > 0 && {
        compliance: keep(
          COMPLIANCE_KEY,
          new ComplianceReader({
            rules,
            readFields: async (resource, signal) =>
              (await control.configuration.read(resource, { bytesMax: FIELDS_BYTES_MAX }, signal)).unique,
            ...toKept(COMPLIANCE_KEY),
          }),
        ),
      }),
      ...(!followsLogs && { log_files: createLogFilesReader(control) }),
    },
    clock,
    intervalMs: poll.interval,
    deadlineMs: poll.deadline,
    staleAfterMs: poll.stale_after,
    zone: settings.timezone,
    previous: values.read(name, CAPABILITIES_KEY),
  });
}

/**
 * Polls `source` for 24 hours by a clock that is stepped through them, and stores what an agent would have kept, so that the next one
 * recalls it: the history of a demonstration.
 */
export async function storePast(router: RouterSettings, source: DocumentSource, store: Store, clock: SteppedClock) {
  const { name, modules, poll, timezone: zone } = router;
  const { interval: intervalMs, deadline: deadlineMs, stale_after: staleAfterMs } = poll;
  const poller = new StatusPoller({ modules, source, clock, intervalMs, deadlineMs, staleAfterMs, zone });
  const state = new RouterState();
  const now = () => ({ wallMs: clock.now(), ms: clock.monotonic() });
  reduceRouter(state, { type: 'journal-recalled', text: undefined }, now());
  for (let step = 0; step < STEPS; step++) {
    const result = await poller.pollOnce(new AbortController().signal);
    if (result.isUp) reduceRouter(state, { type: 'log-caught-up', component: '', isWaitingForLineEnd: false }, now());
    reduceRouter(state, { type: 'polled', result, certificateNotAfterMs: undefined, ...POLLED }, now());
    await clock.advance(STEP_MS - (clock.monotonic() % STEP_MS));
  }
  // It stands for all logs, whose lag it gave the history.
  state.logs.clear();
  const { text: position } = state.journal.prepare(state, Number.POSITIVE_INFINITY);
  await store.commit({ router: name, component: EVENTS_LOG, position, lines: [] });
  await store.writeValue(name, HISTORY_KEY, renderStoredHistory(state, now()) ?? '');
}

/** A reader whose state is kept over a restart. */
class KeptReader implements StatusReader {
  readonly #reader: StatusReader & { readonly state: string };
  readonly #keep: (state: string) => void;

  constructor(reader: StatusReader & { readonly state: string }, keep: (state: string) => void) {
    this.#reader = reader;
    this.#keep = keep;
  }

  async read(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading> {
    const before = this.#reader.state;
    try {
      return await this.#reader.read(context, signal);
    } finally {
      const { state } = this.#reader;
      if (state !== before) this.#keep(state);
    }
  }
}

interface StatusPollingOptions extends Pick<PollerOptions, 'settings' | 'client' | 'values' | 'clock'> {
  readonly poller: StatusPoller;
  readonly pace: AdaptiveInterval;
  readonly bytes: ByteAccount;
  /** Absent: no data plans. */
  readonly plans: DataPlans | undefined;
  readonly recorder: RouterRecorder;
  /** True if the log of this component is read. */
  readonly isFollowed: (component: string) => boolean;
  readonly logger: Logger;
}

export class StatusPolling {
  readonly #options: StatusPollingOptions;
  /** Intervals between two liveness probes: they fit into the time for which values are served. */
  readonly #probeTicks: number;
  /** Monotonic. */
  #historyWrittenMs: number;
  #isHistoryNewer = false;

  constructor(options: StatusPollingOptions) {
    this.#options = options;
    const { stale_after: staleAfterMs, deadline: deadlineMs } = options.settings.poll;
    const history = options.values.read(options.settings.name, HISTORY_KEY);
    const { recorder, isFollowed } = options;
    if (history !== undefined) recorder.record({ type: 'history-recalled', text: history, isFollowed });
    // The first writes of a fleet are spread, so all others are.
    this.#historyWrittenMs = options.clock.monotonic() - hashToUnit(options.settings.name) * HISTORY_WRITE_MS;
    this.#probeTicks = Math.max(1, Math.floor((staleAfterMs - deadlineMs) / options.poller.tickMs));
  }

  /** Time without a successful poll after which the router is down and its values expire. Milliseconds. */
  get quietMs(): number {
    const { settings, poller } = this.#options;
    return Math.max(settings.poll.stale_after, MISSED_POLLS * poller.tickMs);
  }

  /** Returns the factor of the poller's interval after which the next poll is due. */
  findMultiplier(): number {
    const { bytes, pace } = this.#options;
    // Stretched polls leave room for liveness probes, so that a dead router is detected in time.
    return Math.max(Math.min(bytes.budget.pollMultiplier(false), this.#probeTicks), pace.pace.statusStretch);
  }

  /** True for some minutes after a poll that could not connect or log in. */
  get isUnreachable(): boolean {
    const { clock, recorder } = this.#options;
    return clock.monotonic() < recorder.state.unreachableUntilMs;
  }

  /**
   * True if a poll ahead of schedule is worth its bytes: the values are at least {@link FRESH_AGE_MS_MIN} old, and the
   * byte budget slows nothing down. Failed polls count too, because they used bytes.
   */
  get admitsFresh(): boolean {
    return this.#options.bytes.budget.intervalMultiplier('slow') <= 1 && this.freshWaitMs <= 0;
  }

  /** Time until the values are {@link FRESH_AGE_MS_MIN} old. Milliseconds. */
  get freshWaitMs(): number {
    const { clock, recorder } = this.#options;
    return recorder.state.wholePollMs + FRESH_AGE_MS_MIN - clock.monotonic();
  }

  async run(signal: AbortSignal, { isTriggered }: CurrentRun): Promise<RunOutcome> {
    const { client, recorder, poller, pace, plans, settings } = this.#options;
    recorder.record({ type: 'poll-begun' });
    const { result, before } = await client.runInSlot(signal, async (slot, isConcurrent) => {
      const { wireBytes } = client;
      return { result: await this.#read(slot, isTriggered, isConcurrent), before: wireBytes };
    });
    const { sent, received } = client.wireBytes;
    const isTls = settings.url.startsWith('https:');
    const isPutOff = client.retryAfter !== undefined;
    recorder.record({
      type: 'polled',
      result,
      wire: { isTls, sent: sent - before.sent, received: received - before.received },
      isPutOff,
      // A module with a shorter interval makes polls that leave the others out.
      isWhole: isTriggered || (!result.isIdle && poller.tickMs >= settings.poll.interval),
      quietMs: this.quietMs,
      certificateNotAfterMs: client.certificate?.notAfterMs,
    });
    plans?.record(result);
    this.#keepState();
    this.#isHistoryNewer = true;
    if (this.#options.clock.monotonic() - this.#historyWrittenMs >= HISTORY_WRITE_MS) this.#keepHistory();
    if (pace.learn(result, recorder.state.device)) this.#logPace();
    // A router that names the time of the next request needs no back-off.
    return result.isUp || isPutOff ? 'done' : 'failed';
  }

  /**
   * Reads what is due, or everything with `isFresh`, and charges it to its part of the byte budget. The bytes of a
   * concurrent download cannot be separated, so the common part is charged for both.
   */
  async #read(signal: AbortSignal, isFresh: boolean, isConcurrent: boolean): Promise<PollResult> {
    const { poller, bytes, recorder, pace: kept } = this.#options;
    const { budget } = bytes;
    const { pace } = kept;
    // A budget that slows down the status only has bytes for what is due, and for liveness probes.
    const isShort = budget.pollMultiplier(false) > 1;
    if (!isConcurrent) bytes.payFrom(budget.statusPart ?? 'status', true);
    try {
      return await poller.pollOnce(signal, {
        intervalMultiplier: (isSlow) =>
          Math.max(budget.pollMultiplier(isSlow), isSlow ? pace.stretch : pace.statusStretch),
        slowResourcesMax: pace.slowResourcesMax,
        isFresh,
        needsLivenessProbe: isShort,
        mayExpire: isShort,
        holdsValues: (resource) => recorder.holdsValues(resource),
      });
    } finally {
      bytes.payFrom('common', false);
    }
  }

  #keepState(): void {
    const { poller, values, settings } = this.#options;
    const state = poller.takeState();
    if (state !== undefined) values.write(settings.name, CAPABILITIES_KEY, state);
  }

  /** Call it when no poll follows. */
  close(): void {
    if (this.#isHistoryNewer) this.#keepHistory();
  }

  #keepHistory(): void {
    const { values, settings, recorder, clock } = this.#options;
    const at = { wallMs: clock.now(), ms: clock.monotonic() };
    const text = renderStoredHistory(recorder.state, at);
    if (text !== undefined) values.write(settings.name, HISTORY_KEY, text);
    this.#historyWrittenMs = at.ms;
    this.#isHistoryNewer = false;
  }

  #logPace(): void {
    const { pace, settings, logger } = this.#options;
    const { level, responseSeconds, ...rest } = pace.summarize();
    const fields = { router: settings.name, responseSeconds, ...rest };
    if (level === 'usual') logger.info('Router answers faster; requests are no longer throttled', fields);
    else logger.warn('Router answers slowly; requests are throttled', fields);
  }
}
