const UNITS_MS: Readonly<Record<string, number>> = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/** Parses a Prometheus duration (`30s`, `5m`, `1h30m`, `0`) into milliseconds; `undefined` if it is not one. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const match = DURATION.exec(text);
  if (!match || text === '') return undefined;
  const total = Object.values(UNITS_MS).reduce((sum, unitMs, index) => sum + Number(match[index + 1] ?? 0) * unitMs, 0);
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Renders milliseconds as a Prometheus duration (`90000` is `1m30s`), the inverse of {@link parseDuration}. */
export function renderDuration(durationMs: number): string {
  let rest = durationMs;
  let text = '';
  for (const [unit, unitMs] of Object.entries(UNITS_MS)) {
    // Years and weeks are used only if they are exact: 90d is clearer than 12w6d.
    const count = unit === 'y' || unit === 'w' ? (rest % unitMs === 0 ? rest / unitMs : 0) : Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return text || '0s';
}

/** Renders a duration for people in at most two units: `0.25 s`, `42 s`, `3 min`, `2 h 5 min`, `4 d 3 h`; a dash for none. */
export function renderLength(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '–';
  if (seconds < 0) return `${renderLength(-seconds)} ahead`;
  if (seconds < 10) return `${Number(seconds.toFixed(2))} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 || days >= 10 ? `${days} d` : `${days} d ${hours % 24} h`;
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  TB: 1000 ** 4,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Parses a size (`16MiB`, `1GB`, `512`) into bytes; `undefined` if `text` is not a size. Units are case-sensitive. */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text);
  const unit = match?.[2] === '' ? 1 : UNITS[match?.[2] ?? ''];
  if (!match || unit === undefined) return undefined;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** A month in estimates. */
export const MONTH_DAYS = 30;
export const MONTH_MS = MONTH_DAYS * 86_400_000;

/** Renders a moment as its day in UTC: `2026-11-29`. */
export function renderDay(utcMs: number): string {
  return new Date(utcMs).toISOString().slice(0, 10);
}

const COUNTS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Renders a number for people: `2,000`. */
export function renderCount(count: number): string {
  return COUNTS.format(count);
}

/** Renders `1 router`, `2,000 routers`; `plural` where an s is not enough. */
export function renderMany(count: number, what: string, plural = `${what}s`): string {
  return `${renderCount(count)} ${count === 1 ? what : plural}`;
}

const NATURAL = new Intl.Collator('en', { numeric: true });

/** Compares texts as people count: `plant-2` is before `plant-10`. Different texts are never equal. */
export function compareNaturally(a: string, b: string): number {
  return NATURAL.compare(a, b) || Number(a > b) - Number(a < b);
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Renders a size with at most four digits: `1.5 MiB`. */
export function renderBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[power]}`;
}
