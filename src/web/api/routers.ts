/**
 * Lists of routers, the first part of the JSON of `/api/v1/`. In all of it, times are RFC 3339 in UTC, durations are seconds,
 * sizes are bytes, and unknown values are null. Later versions may add keys; they neither remove keys nor change their meaning.
 */

import type { LifecycleState } from '../../model/index.ts';

/**
 * `unknown`: not polled yet. `budget`: not polled again today, because the byte budget is used up. `paused`, `retired`: not polled,
 * because the operator wants that.
 */
export type RouterState = 'up' | 'down' | 'unknown' | 'budget' | 'paused' | 'retired';

/** Life-cycle state of a router, also the answer to `PUT /api/v1/routers/NAME/state`. */
export interface LifecycleSummary {
  /** The state that holds now. */
  readonly state: LifecycleState;
  /** Its end; null without one. */
  readonly until: string | null;
  /** Origin: a file or a source (`configuration`), a request to the agent, or none (`default`). */
  readonly setBy: 'configuration' | 'request' | 'default';
}

/**
 * The steps of a poll, in order: resolve the name, open a connection, verify the certificate, log in, request the
 * resource, parse its document.
 */
export const POLL_STEPS = ['dns', 'tcp', 'tls', 'login', 'resource', 'parse'] as const;

/** Steps of a poll, in their order. */
export type PollStep = (typeof POLL_STEPS)[number];

/**
 * One entry of `GET /api/v1/routers`, which answers `{"routers": [...]}` in the order of names; in `unanswered` stand the
 * processes of the fleet that did not answer, if there are any.
 */
export interface ListedRouter extends RouterSummary {
  /**
   * Results of its polls over the last hours, the oldest first: a letter for each few minutes, `u` for up, `d` for down, `m`
   * for both, `-` for no poll. Empty before the first poll.
   */
  readonly availability: string;
}

/** One router in a list. */
export interface RouterSummary {
  /** The configured name: label `router`. */
  readonly name: string;
  /** The configured address. Credentials in it are not shown. */
  readonly url: string;
  /** The configured labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** The result of the last poll. */
  readonly state: RouterState;
  /** Life-cycle state set by the operator. */
  readonly lifecycle: LifecycleSummary;
  /** Start of this state; null before the first poll. */
  readonly since: string | null;
  /** True when no other state was seen since the agent started: this one may have begun before. */
  readonly isFirstState: boolean;
  /** True when no poll has reached the router for `poll.stale_after`: its values are no longer served. */
  readonly isStale: boolean;
  /** End of the last poll that reached the router and logged in. */
  readonly lastSuccess: string | null;
  /** End of the wait that the router asked for with `Retry-After` (429 or 503); null without one. */
  readonly retryAfter: string | null;
  /** The failure of the last poll; null when it succeeded. */
  readonly failure: RouterFailureSummary | null;
  /** The first fault of the last poll, even if the poll reached the router; null without one. */
  readonly fault: PollFault | null;
  /** Polls that failed since the last one that succeeded. */
  readonly consecutiveFailures: number;
  /** Duration of the last poll, successful or not. */
  readonly durationSeconds: number | null;
  /** The largest {@link RouterLogSummary.lagSeconds} of its logs. */
  readonly logLagSeconds: number | null;
  /** Time since when lines of its logs may be lost: the earliest {@link RouterLogSummary.lossSince}; null = none. */
  readonly logLossSince: string | null;
  /** Bytes sent and received today (UTC), TLS included. */
  readonly bytesToday: number;
  /** Bytes allowed per day (UTC); null without a budget. */
  readonly byteBudget: number | null;
  /** Firmware version of the first board. */
  readonly firmware: string | null;
  /** Last values that the router reported about itself; kept while it is down. */
  readonly device: DeviceSummary;
}

/** Last values of a router, for lists. Null = not reported. */
export interface DeviceSummary {
  /** Type of the device; without one, that of its first board. */
  readonly model: string | null;
  /** Location from the configuration of the router. */
  readonly location: string | null;
  /** Mobile network of the modem; of several modems, that of one with a data session. */
  readonly operator: string | null;
  /** Access technology of the modem, such as `LTE`. */
  readonly technology: string | null;
  /** Strength of the signal of the modem. */
  readonly signal: SignalSummary | null;
  /** Name of the WAN chain in use. */
  readonly wan: string | null;
  /** Time since the router started, when it was last asked. */
  readonly uptimeSeconds: number | null;
}

/** Summary of a router that has reported nothing. */
export const NO_DEVICE: DeviceSummary = {
  model: null,
  location: null,
  operator: null,
  technology: null,
  signal: null,
  wan: null,
  uptimeSeconds: null,
};

/** Strength of a signal. `rsrp` and `rssi` are in dBm, `csq` is from 0 to 31 on the scale of AT+CSQ. */
export interface SignalSummary {
  /** The value that the modem reports; `rsrp` is preferred, then `rssi`. */
  readonly kind: 'rsrp' | 'rssi' | 'csq';
  /** The value. */
  readonly value: number;
}

/** A failure of one router: when, at which step, and why. */
export interface RouterFailureSummary {
  /** The label `reason` of `router_failure_reason`. */
  readonly reason: string;
  /** The step that failed; null when nothing was tried, for example because the byte budget is used up. */
  readonly step: PollStep | null;
  /** The error message. */
  readonly error: string;
}

/** A resource that failed in a poll. */
export interface PollFault {
  /** The step that failed. */
  readonly step: PollStep;
  /** The resource that was being read; null when the fault came before. */
  readonly resource: string | null;
  /** The error message. */
  readonly error: string;
}
