import { html } from 'hono/html';
import { renderLength } from '../../base/index.ts';

/** A piece of a page. Inserted values are escaped. */
export type Html = ReturnType<typeof html>;

export { html, renderLength };

/** Longer text of a router is truncated; the full text is in the log and in the JSON. */
const TEXT_CHARS_MAX = 400;
/** Control characters, including those that change the text direction. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

/** Makes foreign text safe to show: on one line, truncated, without invisible characters. */
export function toShown(text: string, charsMax = TEXT_CHARS_MAX): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
  return cut.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, '\ufffd').toWellFormed();
}

/** Capitalises the first letter. */
export function toSentence(text: string): string {
  return text.replace(/^./u, (letter) => letter.toUpperCase());
}

/** Shortens a name in its middle, where names of a fleet differ least. */
export function cutMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const tail = Math.floor((charsMax - 1) / 2);
  return `${text.slice(0, charsMax - 1 - tail)}…${text.slice(-tail)}`.toWellFormed();
}

const DAY_MS = 86_400_000;

/** Shown instead of unknown values. */
export const NOTHING = '–';

/** Renders a time (RFC 3339) relative to now: `12 s ago`, with the time as the tooltip. */
export function renderAgo(at: string | null, nowMs: number): Html | string {
  const atMs = at === null ? Number.NaN : Date.parse(at);
  if (at === null || Number.isNaN(atMs)) return NOTHING;
  const seconds = (nowMs - atMs) / 1000;
  const words = seconds < 0 ? renderLength(seconds) : `${renderLength(Math.floor(seconds))} ago`;
  return html`<time datetime="${at}" title="${at}">${words}</time>`;
}

/** Renders a time (RFC 3339) in UTC: `2026-11-21 12:00:00`. */
export function renderMoment(at: string | null): Html | string {
  const atMs = at === null ? Number.NaN : Date.parse(at);
  if (at === null || Number.isNaN(atMs)) return NOTHING;
  return html`<time datetime="${at}" title="${at}">${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')}</time>`;
}

/** Renders a start: the time of the day in UTC, `14:02:30`, with the date if it is older than a day. */
export function renderSince(at: string, nowMs: number): Html | string {
  const isRecent = nowMs - Date.parse(at) < DAY_MS;
  return isRecent ? html`<time datetime="${at}" title="${at}">${at.slice(11, 19)}</time>` : renderMoment(at);
}

/** Renders a start and the time since: `14:02:30 (13 min)`. */
export function renderSpell(at: string, nowMs: number): Html {
  return html`${renderSince(at, nowMs)} (${renderLength(Math.floor((nowMs - Date.parse(at)) / 1000))})`;
}

/** Renders the time since a start that may be earlier than the agent's: `for at least 15 min (since the first poll)`. */
export function renderAtLeast(at: string, nowMs: number): Html {
  const length = renderLength(Math.floor((nowMs - Date.parse(at)) / 1000));
  return html`for at least <time datetime="${at}" title="${at}">${length}</time> (since the first poll)`;
}

/** {@link renderSpell} for a narrow column: `14:02 (13 min)`, `09:02 (5 h)`, `2026-11-20 (5 d)`. */
export function renderShortSpell(at: string | null, nowMs: number): Html | string {
  const seconds = at === null ? Number.NaN : Math.floor((nowMs - Date.parse(at)) / 1000);
  if (at === null || Number.isNaN(seconds)) return NOTHING;
  const isRecent = seconds * 1000 < DAY_MS;
  const start = isRecent ? renderClock(at) : html`<time datetime="${at}" title="${at}">${at.slice(0, 10)}</time>`;
  // Rounded down, because the start is exact.
  const hours = Math.floor(seconds / 3600);
  const length = hours < 1 ? renderLength(seconds) : hours < 24 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
  return html`${start} (${length})`;
}

/** Renders the time of the day (RFC 3339) in UTC, `14:02`, with the time as the tooltip. */
export function renderClock(at: string): Html {
  return html`<time datetime="${at}" title="${at}">${at.slice(11, 16)}</time>`;
}

const BIT_UNITS = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s'] as const;

/** Renders a rate of bytes as links are sold, in bits: `1.2 Mbit/s`. */
export function renderBitRate(bytesPerSecond: number | null | undefined): string {
  if (bytesPerSecond === null || bytesPerSecond === undefined) return NOTHING;
  const bits = bytesPerSecond * 8;
  const power = bits < 1 ? 0 : Math.min(BIT_UNITS.length - 1, Math.floor(Math.log10(bits) / 3));
  const value = bits / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${BIT_UNITS[power]}`;
}
