import {
  MappingType,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';

/** Colours by minimum value. If there is an alert about the same number, red starts at its threshold. */
export type Limits = readonly [Threshold, ...Threshold[]];

function limits(base: string, ...steps: readonly (readonly [number, string])[]): Limits {
  return [{ value: null, color: base }, ...steps.map(([value, color]) => ({ value, color }))];
}

/** A number that is neither good nor bad. */
export const NEUTRAL = limits('blue');
/** Number of things that should not occur. */
export const NONE_WANTED = limits('green', [1, 'orange']);
/** Number of things that need immediate attention. */
export const NONE_ALLOWED = limits('green', [1, 'red']);
/** Like {@link NONE_WANTED}, for fractional numbers. */
export const ZERO_WANTED = limits('green', [0.000_001, 'orange']);
/** 1 is good, 0 is bad. */
export const YES_WANTED = limits('red', [1, 'green']);
/** Share of routers or time. */
export const AVAILABILITY = limits('red', [0.95, 'orange'], [0.99, 'green']);
/** Used share of a limit. */
export const FILLING = limits('green', [0.8, 'orange'], [0.95, 'red']);
/** Share of a whole that should be small. */
export const SHARE_BAD = limits('green', [0.05, 'orange'], [0.2, 'red']);
/** Seconds since the last successful poll, for intervals of about a minute. */
export const DATA_AGE = limits('green', [180, 'orange'], [900, 'red']);
/** Duration of a poll or of reading logs, in seconds. */
export const DURATION = limits('green', [5, 'orange'], [20, 'red']);
/** Waiting time of records, in seconds. */
export const DELIVERY_LAG = limits('green', [300, 'orange'], [3600, 'red']);
/** Seconds until a router deletes unread lines. */
export const TIME_LEFT = limits('red', [1800, 'orange'], [21_600, 'green']);
/** Delay of scheduled runs in seconds: a fifth of the usual interval of a minute is too much. */
export const SCHEDULE_LAG = limits('green', [1, 'orange'], [12, 'red']);
/** Delay of the event loop in seconds. */
export const LOOP_LAG = limits('green', [0.1, 'orange'], [0.5, 'red']);
/** Remaining validity of a certificate in seconds; the limits are 7 and 30 days. */
export const VALIDITY = limits('red', [7 * 86_400, 'orange'], [30 * 86_400, 'green']);
/** Seconds since a router started. */
export const UPTIME = limits('orange', [3600, 'green']);
/** Offset of a clock in seconds, positive or negative. */
export const CLOCK = limits('red', [-60, 'orange'], [-5, 'green'], [5, 'orange'], [60, 'red']);
/** Seconds since the last backup, for a schedule of once a day to once a week. */
export const BACKUP_AGE = limits('green', [2 * 86_400, 'orange'], [8 * 86_400, 'red']);
/** Factor by which configured intervals are multiplied. */
export const STRETCH = limits('green', [1.01, 'orange'], [4, 'red']);

/** The usual grades of LTE reception. */
export const RSRP = limits('red', [-110, 'orange'], [-100, 'yellow'], [-90, 'green']);
export const RSRQ = limits('red', [-20, 'orange'], [-15, 'yellow'], [-10, 'green']);
export const SINR = limits('red', [0, 'orange'], [5, 'yellow'], [13, 'green']);
export const RSSI = limits('red', [-95, 'orange'], [-85, 'yellow'], [-75, 'green']);
/** Signal quality on the scale of AT+CSQ, 0 to 31: the same limits as RSSI, which is 2 × CSQ - 113 dBm. */
export const CSQ = limits('red', [9, 'orange'], [14, 'yellow'], [19, 'green']);
/** Modem temperature: those of industrial routers work up to about 70 °C and throttle before. */
export const MODEM_HEAT = limits('blue', [0, 'green'], [65, 'orange'], [80, 'red']);

export function toThresholds(steps: Limits): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([...steps]);
}

/** Words and colours instead of numbers. */
function words(options: Readonly<Record<string, { readonly text: string; readonly color: string }>>): ValueMapping[] {
  return [{ type: MappingType.ValueToText, options: { ...options } }];
}

export const UP_OR_DOWN = words({ '0': { text: 'down', color: 'red' }, '1': { text: 'up', color: 'green' } });
export const YES_OR_NO = words({ '0': { text: 'no', color: 'red' }, '1': { text: 'yes', color: 'green' } });
/** For states in which "yes" needs attention. */
export const NO_OR_YES = words({ '0': { text: 'no', color: 'green' }, '1': { text: 'yes', color: 'orange' } });
/** For states that are neither good nor bad. */
export const ON_OR_OFF = words({ '0': { text: 'off', color: 'text' }, '1': { text: 'on', color: 'blue' } });
