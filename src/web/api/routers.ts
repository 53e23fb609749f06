/**
 * Lists of routers, the first part of the JSON of `/api/v1/`. In all of it, times are RFC 3339 in UTC, durations are seconds,
 * sizes are bytes, and unknown values are null. Later versions may add keys; they neither remove keys nor change their meaning.
 * The rows that other processes of the fleet are asked for are schemas, by which their answers are checked.
 */

import { z } from 'zod';
import { LIFECYCLE_STATES } from '../../model/index.ts';
import { moment, text } from './values.ts';

/** Life-cycle state of a router, also the answer to `PUT /api/v1/routers/NAME/state`. */
export type LifecycleSummary = z.output<typeof lifecycleSchema>;
const lifecycleSchema = z.object({
  /** The state that holds now. */
  state: z.enum(LIFECYCLE_STATES),
  /** Its end; null without one. */
  until: moment.nullable(),
  /** Origin: a file or a source (`configuration`), a request to the agent, or none (`default`). */
  setBy: z.enum(['configuration', 'request', 'default']),
});

/**
 * The steps of a poll, in order: resolve the name, open a connection, verify the certificate, log in, request the
 * resource, parse its document.
 */
export const POLL_STEPS = ['dns', 'tcp', 'tls', 'login', 'resource', 'parse'] as const;

/** Steps of a poll, in their order. */
export type PollStep = (typeof POLL_STEPS)[number];

/** Strength of a signal. `rsrp` and `rssi` are in dBm, `csq` is from 0 to 31 on the scale of AT+CSQ. */
export type SignalSummary = z.output<typeof signalSchema>;
const signalSchema = z.object({
  /** The value that the modem reports; `rsrp` is preferred, then `rssi`. */
  kind: z.enum(['rsrp', 'rssi', 'csq']),
  /** The value. */
  value: z.number(),
});

/** Last values of a router, for lists. Null = not reported. */
export type DeviceSummary = z.output<typeof deviceSchema>;
const deviceSchema = z.object({
  /** Type of the device; without one, that of its first board. */
  model: text.nullable(),
  /** Location from the configuration of the router. */
  location: text.nullable(),
  /** Mobile network of the modem; of several modems, that of one with a data session. */
  operator: text.nullable(),
  /** Access technology of the modem, such as `LTE`. */
  technology: text.nullable(),
  /** Strength of the signal of the modem. */
  signal: signalSchema.nullable(),
  /** Name of the WAN chain in use. */
  wan: text.nullable(),
  /** Time since the router started, when it was last asked. */
  uptimeSeconds: z.number().nullable(),
});

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

/** A failure of one router: when, at which step, and why. */
export type RouterFailureSummary = z.output<typeof failureSchema>;
const failureSchema = z.object({
  /** The label `reason` of `router_failure_reason`. */
  reason: text,
  /** The step that failed; null when nothing was tried, for example because the byte budget is used up. */
  step: z.enum(POLL_STEPS).nullable(),
  /** The error message. */
  error: text,
});

/** A resource that failed in a poll. */
export type PollFault = z.output<typeof faultSchema>;
const faultSchema = z.object({
  /** The step that failed. */
  step: z.enum(POLL_STEPS),
  /** The resource that was being read; null when the fault came before. */
  resource: text.nullable(),
  /** The error message. */
  error: text,
});

/** One router in a list. */
export type RouterSummary = z.output<typeof routerSchema>;
const routerSchema = z.object({
  /** The configured name: label `router`. */
  name: text,
  /** The configured address. Credentials in it are not shown. */
  url: text,
  /** The configured labels. */
  labels: z.record(text, text).readonly(),
  /**
   * The result of the last poll. `unknown`: not polled yet. `budget`: not polled again today, because the byte budget is used up.
   * `paused`, `retired`: not polled, because the operator wants that.
   */
  state: z.enum(['up', 'down', 'unknown', 'budget', 'paused', 'retired']),
  /** Life-cycle state set by the operator. */
  lifecycle: lifecycleSchema,
  /** Start of this state; null before the first poll. */
  since: moment.nullable(),
  /** True when no other state was seen since the agent started: this one may have begun before. */
  isFirstState: z.boolean(),
  /** True when no poll has reached the router for `poll.stale_after`: its values are no longer served. */
  isStale: z.boolean(),
  /** End of the last poll that reached the router and logged in. */
  lastSuccess: moment.nullable(),
  /** End of the wait that the router asked for with `Retry-After` (429 or 503); null without one. */
  retryAfter: moment.nullable(),
  /** The failure of the last poll; null when it succeeded. */
  failure: failureSchema.nullable(),
  /** The first fault of the last poll, even if the poll reached the router; null without one. */
  fault: faultSchema.nullable(),
  /** Polls that failed since the last one that succeeded. */
  consecutiveFailures: z.number(),
  /** Duration of the last poll, successful or not. */
  durationSeconds: z.number().nullable(),
  /** The largest `lagSeconds` of its logs. */
  logLagSeconds: z.number().nullable(),
  /** Time since when lines of its logs may be lost: the earliest `lossSince`; null = none. */
  logLossSince: moment.nullable(),
  /** Bytes sent and received today (UTC), TLS included. */
  bytesToday: z.number(),
  /** Bytes allowed per day (UTC); null without a budget. */
  byteBudget: z.number().nullable(),
  /** Firmware version of the first board. */
  firmware: text.nullable(),
  /** Last values that the router reported about itself; kept while it is down. */
  device: deviceSchema,
});

/** The result of the last poll of a router. */
export type RouterState = RouterSummary['state'];

/**
 * One entry of `GET /api/v1/routers`, which answers `{"routers": [...]}` in the order of names; in `unanswered` stand the
 * processes of the fleet whose rows are missing, if there are any.
 */
export type ListedRouter = z.output<typeof listedRouterSchema>;
/** Schema of {@link ListedRouter}. */
export const listedRouterSchema = routerSchema.extend({
  /**
   * Results of its polls over the last hours, the oldest first: a letter for each few minutes, `u` for up, `d` for down, `m`
   * for both, `-` for no poll. Empty before the first poll.
   */
  availability: z.string().regex(/^[udm-]{0,200}$/),
});
