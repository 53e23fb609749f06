import type { KnownGap, LinkVerdict, LogEvent } from '../../logs/index.ts';
import type { Labels } from '../../model/index.ts';
import type { RetryAfter, SessionEvent } from '../../router/index.ts';
import type { SharedBudget } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type {
  PollFault,
  ResourceSummary,
  RouterFailureSummary,
  RouterLogSummary,
  SessionSummary,
} from '../../web/index.ts';
import type { RouterStateName } from '../metrics/self-metrics.ts';
import type { Moment } from '../times.ts';
import type { RecordOrigin } from '../views/recent-records.ts';
import { DeviceFacts, InterfaceRates } from './device-facts.ts';
import { RecentPolls, RouterHistory } from './poll-history.ts';

/** The connections of one poll. */
export interface Wire {
  /** True if the router is reached over TLS. */
  readonly isTls: boolean;
  /** Bytes on the wire in this poll. */
  readonly sent: number;
  readonly received: number;
}

/** A poll has ended. */
interface Polled {
  readonly type: 'polled';
  readonly result: PollResult;
  readonly wire: Wire;
  /** True if the router asked for a wait. */
  readonly isPutOff: boolean;
  /** True if it read what a fresh poll would read. */
  readonly isWhole: boolean;
  /** Time without a successful poll after which the router is down and its values expire. Milliseconds. */
  readonly quietMs: number;
  /** End of the certificate last shown by the router; `undefined` before the first. */
  readonly certificateNotAfterMs: number | undefined;
}

/** Everything that can happen to a router. */
export type RouterEvent =
  | SessionEvent
  | LogEvent
  | Polled
  /** The operator wants the router not to be asked. */
  | { readonly type: 'rested'; readonly state: 'paused' | 'retired' }
  | { readonly type: 'poll-begun' }
  /** Bytes of a download arrive while a poll waits for its end. `quietMs` as for a poll. */
  | { readonly type: 'reached'; readonly quietMs: number }
  /** No poll has ended by the time that {@link RouterState.awaited} says. */
  | { readonly type: 'quiet'; readonly budget: SharedBudget }
  /** Nobody has asked the router for as long as a first poll may take. */
  | { readonly type: 'unasked' }
  /** The byte budget, and how long the router asks to be left alone: at the start and after every run. */
  | { readonly type: 'limits-read'; readonly budget: SharedBudget; readonly retryAfter: RetryAfter | undefined }
  /** A run over the logs is complete. */
  | { readonly type: 'logs-read' }
  | { readonly type: 'logs-failed'; readonly cause: unknown }
  /** Where the last of the stored log records comes from. */
  | { readonly type: 'records-stored'; readonly origin: RecordOrigin }
  /** The gaps that are stored: those that this process has found are among them. */
  | { readonly type: 'gaps-recalled'; readonly gaps: readonly KnownGap[] }
  /** Lines are matched by other rules from now on. */
  | { readonly type: 'rules-changed' };

/** Types of these events. */
export type RouterEventType = RouterEvent['type'];
/** The event of one type. */
export type RouterEventOf<T extends RouterEventType> = Extract<RouterEvent, { readonly type: T }>;

/** Value of the label `resource` for the logs as a whole. */
export const LOGS = 'logs';
/** A router whose first poll has no word by then is down; longer than a whole poll may take by default. Milliseconds. */
export const FIRST_WORD_MS = 50_000;

/** What is known about a resource of a router. */
export interface ResourceState {
  readonly labels: Labels;
  state: ResourceSummary['state'];
  /** Time at which its values were last read, on the monotonic clock. */
  readAtMs: number | undefined;
  durationMs: number | undefined;
  error: string | null;
  finding: string | null;
  /** True if its answer has values of which none became a series. */
  isUnread: boolean;
  /** True if its absence counts as a failure. */
  isRequired: boolean;
}

/** What is known about one log of a router. */
export interface LogState {
  /** Labels of all series about the log. */
  readonly labels: Labels;
  lines: number;
  bytes: number;
  unparsed: number;
  gaps: number;
  msToLoss: number | undefined;
  /** When the router deletes what it had at the last look. Monotonic. */
  lossAtMs: number | undefined;
  /** When a file that is looked for becomes a gap. Milliseconds since the Unix epoch. */
  gapAtMs: number | undefined;
  archives: number | undefined;
  /** Wall time, milliseconds since the Unix epoch. */
  newestMs: number | undefined;
  /** Monotonic. */
  caughtUpAtMs: number | undefined;
  /** First attempt to read it: a log that is never read to its end lags from then on. Monotonic. */
  triedAtMs: number | undefined;
  position: { readonly file: string; readonly offset: number } | undefined;
  /** Why its lines are not shipped although they are received. */
  unshipped: NonNullable<RouterLogSummary['unshipped']> | undefined;
}

/** Parts of the metrics of a router that are made from its state, each as a whole. */
export type MetricPart =
  | 'state'
  | 'polls'
  | 'retry-after'
  | 'budget-pauses'
  | 'tls'
  | 'account'
  | 'resources'
  | 'logs'
  | 'unshipped-logs'
  | `log-rule:${string}`;

/**
 * Everything that is known about one router. `reduceRouter` alone changes it; metrics, pages and what is asked of the router
 * next are made from it.
 *
 * ```
 *   unknown ─┬─ a poll reached it ──▶ up ── a poll did not, or none has ended for as long as values last ──▶ down
 *            └─ a poll did not, or the first one does not end ──▶ down ── a poll reached it ──▶ up
 *
 *   unknown ── not asked yet, however long: its series say so after a minute; it is not called down
 *   unknown ── the operator wants it not to be asked ──▶ paused or retired
 *   any ── bytes of a download arrive while a poll waits for its end ──▶ up
 *   any ── the byte budget is used up, or pauses polls for as long as values last ──▶ budget ── the next poll ──▶ up or down
 * ```
 */
export class RouterState {
  reach: RouterStateName = 'unknown';
  /** Start of that, by RFC 3339; rendered once, because lists show it again and again. */
  since: string | null = null;
  isFirstReach = false;
  /** Failed polls since the last successful one. */
  failures = 0;
  failure: RouterFailureSummary | undefined;
  /** First failure of the last poll, also if it reached the router. */
  fault: PollFault | undefined;
  /** When the values of the last successful poll expire. Monotonic. */
  staleAtMs = Number.POSITIVE_INFINITY;
  /** Wall time. */
  lastSuccessMs: number | undefined;
  lastSuccess: string | null = null;
  /** Set while a poll is waited for: without one by this time, which began `waitMs` before, the router is down. Monotonic. */
  awaited: { readonly atMs: number; readonly waitMs: number } | undefined;
  /** End of the last poll that read what a fresh one would read. Monotonic. */
  wholePollMs = Number.NEGATIVE_INFINITY;
  /** Until when the router counts as unreachable, because the last poll could not connect or log in. Monotonic. */
  unreachableUntilMs = Number.NEGATIVE_INFINITY;
  retryAfter: RetryAfter | undefined;
  /** Ends of the pauses by the byte budget. Wall time. */
  logsPausedUntilMs: number | undefined;
  statusPausedUntilMs: number | undefined;
  /** End of the certificate. Wall time. */
  certificateNotAfterMs: number | undefined;
  /** Last values of the main board; the same object until a poll changes one. */
  identity: { readonly firmware: string | undefined; readonly serial: string | undefined } = {
    firmware: undefined,
    serial: undefined,
  };
  readonly polls = new RecentPolls();
  readonly history = new RouterHistory();
  readonly device = new DeviceFacts();
  readonly rates = new InterfaceRates();
  /** By name, in the order in which they were first seen. */
  readonly resources = new Map<string, ResourceState>();
  /** What the last poll reported. */
  capabilities: PollResult['capabilities'] | undefined;

  session: SessionSummary['state'] = 'none';
  /** Wall time. */
  sessionSinceMs: number | undefined;
  logins = 0;
  loginFailures = 0;
  refreshes = 0;
  /** Whether the account may change the router; `undefined` if that is not known. */
  isWritable: boolean | undefined;
  /** The errors of failed logins that somebody still holds. */
  failedLogins: WeakSet<object> | undefined;

  /** By component. */
  readonly logs = new Map<string, LogState>();
  /** True if the last run over the logs failed. */
  areLogsFailing = false;
  /** The newest first. */
  gaps: readonly KnownGap[] = [];
  /** Whether each log file begins where the one before ends; `undefined` before the first verdict. */
  links: LinkVerdict | undefined;
  /** Values of log rules that are gauges, if there are any: by metric, then by labels. The rules themselves bound how many there are. */
  ruleValues: Map<string, Map<string, readonly [Labels, number]>> | undefined;
}

/** Returns the time at which the router may be asked again. Wall time. */
export function findRetryAfterMs({ retryAfter }: RouterState, { ms, wallMs }: Moment): number | undefined {
  const leftMs = (retryAfter?.untilMs ?? -Infinity) - ms;
  return leftMs > 0 ? wallMs + leftMs : undefined;
}
