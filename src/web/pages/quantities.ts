import { type Html, html } from './html.ts';

const COUNTS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

const DAY_MS = 86_400_000;

/** Shown in place of unknown values. */
export const NOTHING = '–';

/** `2,000`. */
export function renderCount(count: number): string {
  return COUNTS.format(count);
}

/** `1 router`, `2,000 routers`; `plural` where an s is not enough. */
export function renderMany(count: number, what: string, plural = `${what}s`): string {
  return `${renderCount(count)} ${count === 1 ? what : plural}`;
}

/** `1.5 MiB`: at most four digits before the unit. */
export function renderBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

/** A human-readable duration in at most two units: `0.25 s`, `42 s`, `3 min`, `2 h 5 min`, `4 d 3 h`. */
export function renderLength(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return NOTHING;
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

/** A time (RFC 3339) relative to now, as in `12 s ago`, with the time itself as the tooltip. */
export function renderAgo(at: string | null, nowMs: number): Html | string {
  const atMs = at === null ? Number.NaN : Date.parse(at);
  if (at === null || Number.isNaN(atMs)) return NOTHING;
  const seconds = (nowMs - atMs) / 1000;
  const words = seconds < 0 ? renderLength(seconds) : `${renderLength(Math.floor(seconds))} ago`;
  return html`<time datetime="${at}" title="${at}">${words}</time>`;
}

/** A time (RFC 3339) in UTC: `2026-11-21 12:00:00`. */
export function renderMoment(at: string | null): Html | string {
  const atMs = at === null ? Number.NaN : Date.parse(at);
  if (at === null || Number.isNaN(atMs)) return NOTHING;
  return html`<time datetime="${at}" title="${at}">${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')}</time>`;
}

/** Since when something is so: the time of the day in UTC, as in `14:02:30`, and the date if it is not of the last day. */
export function renderSince(at: string, nowMs: number): Html | string {
  const isRecent = nowMs - Date.parse(at) < DAY_MS;
  return isRecent ? html`<time datetime="${at}" title="${at}">${at.slice(11, 19)}</time>` : renderMoment(at);
}

/** Since when something is so, and for how long: `14:02:30 (13 min)`. */
export function renderSpell(at: string, nowMs: number): Html {
  return html`${renderSince(at, nowMs)} (${renderLength(Math.floor((nowMs - Date.parse(at)) / 1000))})`;
}

/** How long something has been so that may have begun before the agent started: `for at least 15 min (since the agent started)`. */
export function renderAtLeast(at: string, nowMs: number): Html {
  const length = renderLength(Math.floor((nowMs - Date.parse(at)) / 1000));
  return html`for at least <time datetime="${at}" title="${at}">${length}</time> (since the agent started)`;
}

/** {@link renderSpell} in one line of a narrow column: `14:02 (13 min)`, `09:02 (5 h)`, `2026-11-20 (5 d)`. */
export function renderShortSpell(at: string | null, nowMs: number): Html | string {
  const seconds = at === null ? Number.NaN : Math.floor((nowMs - Date.parse(at)) / 1000);
  if (at === null || Number.isNaN(seconds)) return NOTHING;
  const isRecent = seconds * 1000 < DAY_MS;
  const start = isRecent ? renderClock(at) : html`<time datetime="${at}" title="${at}">${at.slice(0, 10)}</time>`;
  // The start is exact.
  const hours = Math.floor(seconds / 3600);
  const length = hours < 1 ? renderLength(seconds) : hours < 24 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
  return html`${start} (${length})`;
}

/** The time of the day (RFC 3339) in UTC, as in `14:02`, with the time itself as the tooltip. */
export function renderClock(at: string): Html {
  return html`<time datetime="${at}" title="${at}">${at.slice(11, 16)}</time>`;
}
