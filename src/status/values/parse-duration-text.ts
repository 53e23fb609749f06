import { dropRoundingError, findUnit, toBaseUnit } from './units.ts';

/** `hh:mm` or `hh:mm:ss`, optionally preceded by a number of days. */
const CLOCK = /^(?:(\d{1,7}) )?(\d{1,7}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?$/;
const PART = /(\d{1,15}(?:\.\d{1,9})?) ?([a-zµμ]{1,7})(?:(?: ?, ?| )(?:and )?|(?=\d)|$)/y;
/** Weeks, days, hours, minutes, seconds and smaller units. */
const PARTS_MAX = 8;

/**
 * Parses the duration formats of devices into seconds: `3 days, 04:05`, `3 04:05:06`, `04:05:06`, `1d 2h 3m 4s`,
 * `2d20h12m20s`, `3600 s`. A clock with two parts is hours and minutes. A bare number is not a duration.
 */
export function parseDurationText(text: string): number | undefined {
  const lower = text.toLowerCase();
  let seconds = 0;
  let at = 0;
  for (let count = 0; count < PARTS_MAX && at < lower.length; count++) {
    PART.lastIndex = at;
    const [whole, number, name = ''] = PART.exec(lower) ?? [];
    const unit = findUnit(name);
    if (whole === undefined || unit?.dimension !== 's') break;
    seconds += toBaseUnit(Number(number), unit);
    at += whole.length;
  }
  if (at === lower.length) return at === 0 ? undefined : dropRoundingError(seconds);
  const clock = parseClock(lower.slice(at));
  return clock === undefined ? undefined : dropRoundingError(seconds + clock);
}

function parseClock(text: string): number | undefined {
  const [whole, days = '0', hours, minutes, seconds = '0', fraction = '0'] = CLOCK.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(`${seconds}.${fraction}`);
}
