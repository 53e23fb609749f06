import { openZone, type ZoneOffsets } from '../../base/index.ts';

/** Context for reading a date. */
export interface DateContext {
  /** Time of reading by this machine's clock; read only if a result depends on it. Milliseconds since the Unix epoch. */
  readonly readAtMs: number;
  /** IANA name of the router's zone; default UTC. */
  readonly zone: string | undefined;
}

interface ParsedDate {
  /** Milliseconds since the Unix epoch. */
  readonly utcMs: number;
  /** True if neither the text nor the context names a zone and UTC was assumed. */
  readonly isZoneAssumed: boolean;
  readonly hasTime: boolean;
}

const TIME = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?`;
/** A name such as `CET` adds nothing to the router's zone. */
const ZONE = String.raw`(?: ?(?<zone>Z|[+-]\d\d(?::?\d\d)?|[A-Z]{3,5}))?`;
const DAY = '(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?[.,]{0,2} )?';
const MONTH = '(?<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const FORMS = [
  // 2026-11-21 09:00:00, 2026-11-21T08:00:00.5Z, 2026-11-21
  String.raw`(?<year>\d{4})[-/](?<month>\d{1,2})[-/](?<day>\d{1,2})(?:(?:T|,? )${TIME}${ZONE})?`,
  // 21.11.2026 09:00:00
  String.raw`${DAY}(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})(?:,? ${TIME}${ZONE})?`,
  // Nov 21 09:00:00, Sat Nov 21 09:00:00 CET 2026
  String.raw`${DAY}${MONTH} (?<day>\d{1,2})(?:,? (?<yearBefore>\d{4}),?)? ${TIME}${ZONE}(?: (?<year>\d{4})${ZONE.replace('zone', 'zoneAfter')})?`,
  // Sat, 21 Nov 2026 08:00:00 GMT
  String.raw`${DAY}(?<day>\d{1,2})[ -]${MONTH}[ -](?<year>\d{4}),? ${TIME}${ZONE}`,
].map((form) => new RegExp(`^${form}$`, 'i'));

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** A device whose clock was never set is in 1970; anything much earlier is not a date. */
const YEAR_MIN = 1900;

/** Parses the date formats of devices; ambiguous dates are the moment nearest to the time of reading. */
export function parseDateText(text: string, context: DateContext): ParsedDate | undefined {
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups;
    if (groups) return toDate(groups, context);
  }
  return undefined;
}

type Groups = Readonly<Record<string, string | undefined>>;

function toDate(groups: Groups, context: DateContext): ParsedDate | undefined {
  const offsetMs = parseOffset(groups['zone'] ?? groups['zoneAfter']);
  const zone = offsetMs === undefined ? findZone(context.zone) : undefined;
  const yearText = groups['year'] ?? groups['yearBefore'];
  const years = yearText === undefined ? listNearYears(context.readAtMs) : [Number(yearText)];
  const moments = years.flatMap((year) => {
    const wallMs = toWallMs(year, groups);
    if (wallMs === undefined) return [];
    return zone ? zone.momentsOf(wallMs) : [wallMs - (offsetMs ?? 0)];
  });
  // Unambiguous dates must not depend on the time of reading.
  const [utcMs] = moments.length > 1 ? sortByDistance(moments, context.readAtMs) : moments;
  if (utcMs === undefined) return undefined;
  const isZoneAssumed = offsetMs === undefined && zone === undefined;
  return { utcMs, isZoneAssumed, hasTime: groups['hour'] !== undefined };
}

function listNearYears(readAtMs: number): readonly number[] {
  const thisYear = new Date(readAtMs).getUTCFullYear();
  return [thisYear - 1, thisYear, thisYear + 1];
}

function sortByDistance(moments: readonly number[], readAtMs: number): readonly number[] {
  return moments.toSorted((a, b) => Math.abs(a - readAtMs) - Math.abs(b - readAtMs));
}

/** As if it were UTC; `undefined` if it does not exist. */
function toWallMs(year: number, groups: Groups): number | undefined {
  const { day, hour: hours = '0', minute = '0', second = '0', fraction = '0' } = groups;
  const month =
    groups['month'] === undefined ? MONTHS.indexOf(groups['name']?.toLowerCase() ?? '') : Number(groups['month']) - 1;
  const wallMs = Date.UTC(year, month, Number(day), Number(hours), Number(minute), Number(second));
  const isOfCalendar = month >= 0 && month < 12 && new Date(Date.UTC(year, month, Number(day))).getUTCMonth() === month;
  const isOfClock = Number(hours) < 24 && Number(minute) < 60 && Number(second) <= 60;
  if (year < YEAR_MIN || Number(day) < 1 || !isOfCalendar || !isOfClock) return undefined;
  return wallMs + Math.floor(Number(`0.${fraction}`) * 1000);
}

/** Milliseconds; `undefined` without a UTC offset. */
function parseOffset(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  if (/^(?:Z|UTC|GMT)$/i.test(zone)) return 0;
  const [whole, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (whole === undefined) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function findZone(name: string | undefined): ZoneOffsets | undefined {
  try {
    return name === undefined ? undefined : openZone(name);
  } catch {
    return undefined;
  }
}
