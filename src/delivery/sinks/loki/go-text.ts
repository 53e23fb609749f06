import { type StreamKey, toStreamKey } from './request.ts';

const GO_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(?:Z|([+-]\d\d):?(\d\d))/;

/**
 * Parses a time as Go prints it, `2025-10-26 00:59:58.000018231 +0000 UTC` or `2025-10-26T00:59:58Z`, to nanoseconds
 * since the Unix epoch, in decimal.
 */
export function parseGoTime(text: string): string | undefined {
  const [, date, time, fraction = '', hours, minutes] = GO_TIME.exec(text) ?? [];
  if (date === undefined || time === undefined) return undefined;
  const ms = Date.parse(`${date}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`);
  if (Number.isNaN(ms)) return undefined;
  return String(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0')));
}

const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?/y;

/**
 * Parses stream labels as Loki prints them, `{component="network", router="plant-7"}`, to a key. Omits labels that Loki
 * adds itself, such as `__stream_shard__`.
 */
export function parseLabelSet(text: string | undefined): StreamKey | undefined {
  if (!text?.startsWith('{') || !text.endsWith('}')) return undefined;
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 1;
  while (LABEL.lastIndex < text.length - 1) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) return undefined;
    if (!name.startsWith('__')) labels[name] = unquoteGo(value);
  }
  return toStreamKey(labels);
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Inverse of Go's `strconv.Quote` for UTF-8 text. */
function unquoteGo(quoted: string): string {
  return quoted.replace(/\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/g, (_, x, u, long, single) => {
    const code: string | undefined = x ?? u ?? long;
    if (code === undefined) return ESCAPES[single] ?? single;
    const point = Number.parseInt(code, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd';
  });
}
