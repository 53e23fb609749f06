import type { RetryAfter, SessionEvent } from '../../client/index.ts';
import type { KnownGap, LinkVerdict, LogEvent } from '../../logs/index.ts';
import type { Labels } from '../../model/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { FirmwareVersion, PollResult } from '../../status/index.ts';
import type {
  InterfaceRate,
  PollFault,
  ResourceSummary,
  RouterFailureSummary,
  RouterLogSummary,
  SessionSummary,
} from '../../web/index.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import type { RecordOrigin } from '../views/recent-records.ts';
import { DeviceChanges } from './device-changes.ts';
import { DeviceFacts, InterfaceRates, type LastFacts } from './device-facts.ts';
import { type Moment, RecentPolls, RouterHistory } from './poll-history.ts';
import { RouterJournal } from './router-journal.ts';

export type { Moment } from './poll-history.ts';

export interface Wire {
  readonly isTls: boolean;
  readonly sent: number;
  readonly received: number;
}

interface Polled {
  readonly type: 'polled';
  readonly result: PollResult;
  readonly wire: Wire;
  /** True if the router asked for a delay. */
  readonly isPutOff: boolean;
  /** True if it covers everything that a fresh poll would read. */
  readonly isWhole: boolean;
  /** Time without a successful poll after which the router is down and its values expire. Milliseconds. */
  readonly quietMs: number;
  /** Expiry of the certificate last shown by the router; `undefined` before the first. */
  readonly certificateNotAfterMs: number | undefined;
}

export type RouterEvent =
  | SessionEvent
  | LogEvent
  | Polled
  | { readonly type: 'paused-or-retired'; readonly state: 'paused' | 'retired' }
  | { readonly type: 'poll-begun' }
  /** Bytes of a download arrive while a poll waits for it. `quietMs` as for a poll. */
  | { readonly type: 'reached'; readonly quietMs: number }
  /** No poll has ended within the time in {@link RouterState.awaited}. */
  | { readonly type: 'quiet'; readonly budget: SharedBudget }
  /** The router was not polled within the time that a first poll may take. */
  | { readonly type: 'unasked' }
  | { readonly type: 'limits-read'; readonly budget: SharedBudget; readonly retryAfter: RetryAfter | undefined }
  /** A run over the logs has succeeded. */
  | { readonly type: 'logs-read' }
  | { readonly type: 'logs-failed'; readonly cause: unknown }
  | { readonly type: 'records-stored'; readonly origin: RecordOrigin }
  | { readonly type: 'gaps-recalled'; readonly gaps: readonly KnownGap[] }
  | { readonly type: 'rules-changed' }
  /** `isFollowed` selects the logs that are still read. */
  | { readonly type: 'history-recalled'; readonly text: string; readonly isFollowed: (component: string) => boolean }
  /** The stored journal; `undefined` at first contact. */
  | { readonly type: 'journal-recalled'; readonly text: string | undefined }
  | { readonly type: 'firmware-listed'; readonly versions: readonly FirmwareVersion[] };

export type RouterEventType = RouterEvent['type'];
export type RouterEventOf<T extends RouterEventType> = Extract<RouterEvent, { readonly type: T }>;

/** Value of the label `resource` for the logs as a whole. */
export const LOGS = 'logs';
/**
 * Time limit of the first poll, after which the router is down. Longer than a whole poll may take by default.
 * Milliseconds.
 */
export const FIRST_POLL_MS = 50_000;

export interface ResourceState {
  readonly labels: Labels;
  state: ResourceSummary['state'];
  /** Time of the last reading of its values. Monotonic. */
  readAtMs: number | undefined;
  durationMs: number | undefined;
  error: string | null;
  finding: string | null;
  /** True if its answer has values of which none became a series. */
  isUnread: boolean;
  /** True if its absence counts as a failure. */
  isRequired: boolean;
}

export interface LogState {
  readonly labels: Labels;
  lines: number;
  bytes: number;
  unparsed: number;
  gaps: number;
  msToLoss: number | undefined;
  /** When the router deletes its unread lines, as of the last reading. Monotonic. */
  lossAtMs: number | undefined;
  /** When a missing file becomes a gap. Milliseconds since the Unix epoch. */
  gapAtMs: number | undefined;
  archives: number | undefined;
  /** Wall time in milliseconds since the Unix epoch. */
  newestMs: number | undefined;
  /** Monotonic. */
  caughtUpAtMs: number | undefined;
  /** First attempt to read it. Until it is read to its end, the metric counts its lag from here, and pages leave it out. Monotonic. */
  triedAtMs: number | undefined;
  position: { readonly file: string; readonly offset: number } | undefined;
  /** Set while its lines are received but not shipped. */
  unshipped: NonNullable<RouterLogSummary['unshipped']> | undefined;
}

/** Parts of the metrics of a router that are rendered from its state, each as a whole. */
export type MetricPart =
  | 'state'
  | 'polls'
  | 'retry-after'
  | 'budget-pauses'
  | 'tls'
  | 'account'
  | 'firmware'
  | 'resources'
  | 'logs'
  | 'unshipped-logs'
  | `log-rule:${string}`;

/**
 * The state of one router. Only `reduceRouter` changes it; metrics, pages and the next requests depend on it.
 *
 * ```
 *   unknown ─┬─ a poll succeeds ──▶ up ── a poll fails, or none has ended until values expire ──▶ down
 *            └─ a poll fails, or the first one does not end ──▶ down ── a poll succeeds ──▶ up
 *
 *   unknown ── not polled yet, however long: its series show it after 50 s; it does not count as down
 *   unknown ── the operator has paused or retired it ──▶ paused or retired
 *   any ── bytes of a download arrive while a poll waits for it ──▶ up
 *   any ── the byte budget is used up, or pauses polls until values expire ──▶ budget ── the next poll ──▶ up or down
 * ```
 */
export class RouterState {
  reach: RouterStateName = 'unknown';
  /** Start of this state as RFC 3339; rendered once, because lists show it often. */
  since: string | null = null;
  isFirstReach = false;
  failures = 0;
  failure: RouterFailureSummary | undefined;
  /** First failure of the last poll, even if it reached the router. */
  fault: PollFault | undefined;
  /** When the values of the last successful poll expire. Monotonic. */
  staleAtMs = Number.POSITIVE_INFINITY;
  /** Wall time. */
  lastSuccessMs: number | undefined;
  lastSuccess: string | null = null;
  /** Deadline of the next poll, set `waitMs` before; without a poll by then, the router is down. Monotonic. */
  awaited: { readonly atMs: number; readonly waitMs: number } | undefined;
  /** End of the last poll that covered everything a fresh one would read. Monotonic. */
  wholePollMs = Number.NEGATIVE_INFINITY;
  /** The last poll could not connect or log in; logs are not read before this time. Monotonic. */
  unreachableUntilMs = Number.NEGATIVE_INFINITY;
  retryAfter: RetryAfter | undefined;
  /** Ends of the pauses by the byte budget. Wall time. */
  logsPausedUntilMs: number | undefined;
  statusPausedUntilMs: number | undefined;
  /** Expiry of the certificate. Wall time. */
  certificateNotAfterMs: number | undefined;
  /** Last values of the main board. */
  identity: { readonly firmware: string | undefined; readonly serial: string | undefined } = {
    firmware: undefined,
    serial: undefined,
  };
  /** Listed by the operator. */
  firmwareVersions: readonly FirmwareVersion[] = [];
  readonly changes = new DeviceChanges();
  readonly journal = new RouterJournal();
  readonly polls = new RecentPolls();
  readonly history = new RouterHistory();
  readonly device = new DeviceFacts();
  /** Set until the router is reached for the first time. Not in the metrics. */
  recalled: LastFacts | undefined;
  readonly rates = new InterfaceRates();
  /** Rates of the interface that leads out, as of the last poll that reached the router. */
  traffic: InterfaceRate | undefined;
  /** By name, in the order in which they were first seen. */
  readonly resources = new Map<string, ResourceState>();
  lacks: PollResult['lacks'] | undefined;

  session: SessionSummary['state'] = 'none';
  /** Wall time. */
  sessionSinceMs: number | undefined;
  logins = 0;
  loginFailures = 0;
  refreshes = 0;
  /** True if the account may change the router; `undefined` if unknown. */
  isWritable: boolean | undefined;
  /** Errors of failed logins, to recognise them as causes. */
  failedLogins: WeakSet<object> | undefined;

  readonly logs = new Map<string, LogState>();
  /** As an earlier agent left them, for pages until the first listing. Not in the metrics. */
  readonly recalledLogs = new Map<string, LogState>();
  areLogsFailing = false;
  /** The newest first. */
  gaps: readonly KnownGap[] = [];
  /** Whether each log file begins where the previous one ends; `undefined` before the first verdict. */
  links: LinkVerdict | undefined;
  /** Values of gauges of log rules, by metric, then by labels. The rules bound their number. */
  ruleValues: Map<string, Map<string, readonly [Labels, number]>> | undefined;
}

/** Returns the wall time at which requests to the router may resume; `undefined` without a delay. */
export function findRetryAfterMs({ retryAfter }: RouterState, { ms, wallMs }: Moment): number | undefined {
  const leftMs = (retryAfter?.untilMs ?? -Infinity) - ms;
  return leftMs > 0 ? wallMs + leftMs : undefined;
}

/** Renders milliseconds since the Unix epoch as RFC 3339; `null` for `undefined`. */
export function toTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}

/** Converts milliseconds to seconds. */
export function toSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
