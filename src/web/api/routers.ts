import { z } from 'zod';
import { LIFECYCLE_STATES, POLL_STEPS } from '../../model/index.ts';

/** A log line has up to 64 KiB. Characters. */
const TEXT_CHARS_MAX = 80_000;

/** Schema of a text. */
export const text = z
  .string()
  .max(TEXT_CHARS_MAX)
  .overwrite((value) => value.toWellFormed());

/** Schema of a time: RFC 3339 in UTC. */
export const moment = z.iso.datetime();

/**
 * Lists of routers, the first part of the JSON of `/api/v1/`. In all of it, times are RFC 3339 in UTC, durations are seconds, sizes are
 * bytes, and unknown values are null. Later versions may add keys; they neither remove keys nor change their meaning. Rows exchanged
 * between processes of the fleet have schemas, which check the answers.
 */

/** Life-cycle state of a router, also the answer to `PUT /api/v1/routers/NAME/state`. */
export type LifecycleSummary = z.output<typeof lifecycleSchema>;
const lifecycleSchema = z.object({
  state: z.enum(LIFECYCLE_STATES),
  until: moment.nullable(),
  /** A file or a source (`configuration`), a request to the agent, or none (`default`). */
  setBy: z.enum(['configuration', 'request', 'default']),
});

/** Signal strength: `rsrp` and `rssi` in dBm, `csq` from 0 to 31 on the scale of AT+CSQ. */
export type SignalSummary = z.output<typeof signalSchema>;
const signalSchema = z.object({
  /** As reported by the modem; `rsrp` is preferred, then `rssi`. */
  kind: z.enum(['rsrp', 'rssi', 'csq']),
  value: z.number(),
});

/** Last values of a router, for lists. Null = not reported. */
export type DeviceSummary = z.output<typeof deviceSchema>;
export const deviceSchema = z.object({
  /** Device type; without one, type of the first board. */
  model: text.nullable(),
  location: text.nullable(),
  /** Mobile network; with several modems, of one with a data session. */
  operator: text.nullable(),
  technology: text.nullable(),
  signal: signalSchema.nullable(),
  wan: text.nullable(),
  /** Uptime at the last read. */
  uptimeSeconds: z.number().nullable(),
  /** `profile`: a stored profile was changed since its activation. `rule`: a field differs from the value that is expected. */
  drift: z.enum(['profile', 'rule']).nullable().default(null),
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
  drift: null,
};

/** Traffic of one interface; null when unknown or after a counter reset. */
export type InterfaceRate = z.output<typeof rateSchema>;
const rateSchema = z.object({
  interface: text,
  receiveBytesPerSecond: z.number().nullable(),
  transmitBytesPerSecond: z.number().nullable(),
});

/** Traffic of a router. Null = not known, or no data plan. */
export type UseSummary = z.output<typeof useSchema>;
const useSchema = z.object({
  /** Bytes of the agent with the router in this month (UTC). */
  agent: z.number(),
  /** What the agent uses in 30 days at its rate so far. */
  agentForecast: z.number().nullable(),
  /** All traffic of the cellular interfaces in the billing periods of its data plans, and their sum at the end of them. */
  used: z.number().nullable(),
  limit: z.number().nullable(),
  forecast: z.number().nullable(),
});

/** Traffic of nothing. */
export const NO_USE: UseSummary = { agent: 0, agentForecast: null, used: null, limit: null, forecast: null };

/** A failure of one router. */
export type RouterFailureSummary = z.output<typeof failureSchema>;
const failureSchema = z.object({
  /** Label `reason` of `router_failure_reason`. */
  reason: text,
  /** Null if nothing was tried, for example because the byte budget is used up. */
  step: z.enum(POLL_STEPS).nullable(),
  error: text,
});

/** A resource that failed in a poll. */
export type PollFault = z.output<typeof faultSchema>;
const faultSchema = z.object({
  step: z.enum(POLL_STEPS),
  /** Null if the fault came before the resource. */
  resource: text.nullable(),
  error: text,
});

/** One router in a list. */
export type RouterSummary = z.output<typeof routerSchema>;
const routerSchema = z.object({
  name: text,
  /** Configured address, without credentials. */
  url: text,
  labels: z.record(text, text).readonly(),
  /**
   * The result of the last poll. `unknown`: not polled yet. `budget`: not polled again today, because the byte budget is used up.
   * `paused`, `retired`: not polled, as set by the operator.
   */
  state: z.enum(['up', 'down', 'unknown', 'budget', 'paused', 'retired']),
  lifecycle: lifecycleSchema,
  /** Start of this state; null before the first poll. */
  since: moment.nullable(),
  /** True if the agent has seen no other state since it started: this one may have begun before. */
  isFirstState: z.boolean(),
  /** True if no poll has reached the router for `poll.stale_after`: its values are no longer served. */
  isStale: z.boolean(),
  /** End of the last poll that reached the router and logged in. */
  lastSuccess: moment.nullable(),
  /** End of the wait that the router requested with `Retry-After` (429 or 503); null without one. */
  retryAfter: moment.nullable(),
  /** Failure of the last poll; null if it succeeded. */
  failure: failureSchema.nullable(),
  /** First fault of the last poll, also if it reached the router; null without one. */
  fault: faultSchema.nullable(),
  /** Failed polls since the last success. */
  consecutiveFailures: z.number(),
  /** Of the last poll, successful or not. */
  durationSeconds: z.number().nullable(),
  /** Largest `lagSeconds` of its logs. */
  logLagSeconds: z.number().nullable(),
  /** Earliest `lossSince` of its logs; null = none. */
  logLossSince: moment.nullable(),
  /** Missing pieces of its logs since the agent started, or those remembered of the last 24 hours if they are more. */
  gaps: z.number(),
  /** True while its response time stretches its intervals. */
  isSlow: z.boolean(),
  /** Expiry of its TLS certificate; null when not known. */
  certificateExpiry: moment.nullable(),
  /** Sent and received today (UTC), TLS included. */
  bytesToday: z.number(),
  /** Allowed per day (UTC); null without a budget. */
  byteBudget: z.number().nullable(),
  use: useSchema,
  /** Firmware version of the first board. */
  firmware: text.nullable(),
  /** Last reported values; kept while the router is down. */
  device: deviceSchema,
  /** Of the interface of the WAN chain, else of the busiest one; null while the router is not up. */
  traffic: rateSchema.nullable(),
});

/** The result of the last poll of a router. */
export type RouterState = RouterSummary['state'];

/** An entry of `GET /api/v1/routers`: `{"routers": [...], "unanswered": [...]}`, the latter for processes with missing rows. */
export type ListedRouter = z.output<typeof listedRouterSchema>;
export const listedRouterSchema = routerSchema.extend({
  /** 24 hours, one letter per 12 minutes, oldest first: `u` up, `d` down, `m` both, `-` not watched. Empty before the first poll. */
  availability: z.string().regex(/^[udm-]{0,200}$/),
});

/** Returns the site of a router: its label `site`, else the operator that its modem reports; null without both. */
export function findSite({ labels, device }: Pick<RouterSummary, 'labels' | 'device'>): string | null {
  return labels['site'] || device.operator;
}
