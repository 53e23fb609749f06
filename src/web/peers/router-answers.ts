import { LIFECYCLE_STATES } from '../../model/index.ts';
import { type LifecycleSummary, type ListedRouter, NO_DEVICE, POLL_STEPS } from '../api/routers.ts';
import type { ForeignRouter, LogRow } from '../content.ts';
import { fields, flag, moment, number, oneOf, or, orNull, text } from './decode.ts';

/** A process's answer about its router; it may run another version. Name, URL and labels are those of the configuration here. */
type Said = Omit<ListedRouter, 'name' | 'url' | 'labels'>;

const ACTIVE: LifecycleSummary = { state: 'active', until: null, setBy: 'default' };
const UNKNOWN: Said = {
  state: 'unknown',
  lifecycle: ACTIVE,
  since: null,
  isFirstState: false,
  isStale: false,
  lastSuccess: null,
  retryAfter: null,
  failure: null,
  fault: null,
  consecutiveFailures: 0,
  durationSeconds: null,
  logLagSeconds: null,
  logLossSince: null,
  bytesToday: 0,
  byteBudget: null,
  firmware: null,
  device: NO_DEVICE,
  availability: '',
};
/** Letters of {@link ListedRouter.availability}. */
const AVAILABILITY = /^[udm-]{0,200}$/;

const step = oneOf(POLL_STEPS);
const someNumber = orNull(number);
const someText = orNull(text);
const decodeSaid = fields<Said>({
  state: or(oneOf(['up', 'down', 'unknown', 'budget', 'paused', 'retired']), 'unknown'),
  lifecycle: or(
    fields<LifecycleSummary>({
      state: oneOf(LIFECYCLE_STATES),
      until: orNull(moment),
      setBy: or(oneOf(['configuration', 'request', 'default']), 'default'),
    }),
    ACTIVE,
  ),
  since: orNull(moment),
  isFirstState: flag,
  isStale: flag,
  lastSuccess: orNull(moment),
  retryAfter: orNull(moment),
  failure: orNull(fields({ reason: or(text, ''), step: orNull(step), error: or(text, '') })),
  fault: orNull(fields({ step, resource: someText, error: or(text, '') })),
  consecutiveFailures: or(number, 0),
  durationSeconds: someNumber,
  logLagSeconds: someNumber,
  logLossSince: orNull(moment),
  bytesToday: or(number, 0),
  byteBudget: someNumber,
  firmware: someText,
  device: or(
    fields<Said['device']>({
      model: someText,
      location: someText,
      operator: someText,
      technology: someText,
      signal: orNull(fields({ kind: oneOf(['rsrp', 'rssi', 'csq']), value: number })),
      wan: someText,
      uptimeSeconds: someNumber,
    }),
    NO_DEVICE,
  ),
  availability: (value) => (typeof value === 'string' && AVAILABILITY.test(value) ? value : ''),
});

/** Describes a router of another process by what that process says; without an answer, or with a senseless one, as unknown. */
export function describeForeign({ name, url, labels }: ForeignRouter, said?: unknown): ListedRouter {
  return { name, url, labels, ...(decodeSaid(said) ?? UNKNOWN) };
}

/** Reads one row of the answer of `GET /api/v1/logs`. */
export const decodeLogRow = fields<LogRow>({
  router: text,
  component: text,
  lines: or(number, 0),
  bytes: or(number, 0),
  unparsedLines: or(number, 0),
  gaps: or(number, 0),
  archives: someNumber,
  newest: orNull(moment),
  lagSeconds: someNumber,
  secondsToLoss: someNumber,
  gapAt: orNull(moment),
  lossSince: orNull(moment),
  position: orNull(fields({ file: text, offset: number })),
  unshipped: orNull(fields({ state: text, message: text })),
});
