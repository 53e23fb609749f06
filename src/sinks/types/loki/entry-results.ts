import { sanitizeErrorText } from '../../../net/index.ts';
import type { DeliveryReport, Refusal } from '../../contracts.ts';
import type { SentEntry } from './push.ts';

/** Selects entries, by content and index in the push. */
export type Rule = (entry: SentEntry, index: number) => boolean;

interface Reading {
  /** Returns, for the captured groups, the rule that selects every entry certainly rejected, named or not. */
  readonly rule: (...captured: readonly (string | undefined)[]) => Rule;
  /** Returns, for the captured groups, a rule that selects the named entry and possibly others. */
  readonly named?: (...captured: readonly (string | undefined)[]) => Rule;
  readonly isUncounted?: boolean;
}

const CODE = '400';

/** Collects the result of each entry; each gets at most one. */
export class EntryResults {
  readonly #sent: readonly SentEntry[];
  readonly #refused = new Map<number, Refusal>();
  readonly #retry = new Map<number, string>();
  #unnamed = 0;
  #unnamedReason = '';

  constructor(sent: readonly SentEntry[]) {
    this.#sent = sent;
  }

  /** Applies every occurrence of a pattern in `text`. */
  read(text: string, pattern: string, { rule, named, isUncounted = false }: Reading): void {
    const matches = [...text.matchAll(new RegExp(`(?:(\\d{1,9}) errors like: )?(${pattern})`, 'g'))];
    const before = this.#refused.size;
    for (const [, , reason = '', ...captured] of matches) {
      for (const index of this.#find(rule(...captured))) this.refuse(index, reason);
    }
    if (isUncounted) return;
    let missing = before - this.#refused.size;
    for (const [, count, reason = '', ...captured] of matches) {
      const expected = Number(count ?? 1);
      if (!named) missing += expected;
      else this.refuseUpTo(expected - this.#countRefused(named(...captured)), reason, named(...captured));
    }
    if (!named) this.#countUnnamed(missing, matches[0]?.[2] ?? '');
  }

  /** Finds an entry without a result by its time. */
  findAt(stream: string | undefined, ns: string | undefined): number | undefined {
    return this.#find((entry) => entry.ns === ns && (stream === undefined || entry.stream === stream))[0];
  }

  refuse(index: number, reason: string): void {
    this.#refused.set(index, { reason: sanitizeErrorText(reason), code: CODE });
  }

  /** Marks an entry to be sent again. */
  retry(index: number, reason: string): void {
    this.#retry.set(index, reason);
  }

  /** Marks all entries without a result that match the rule to be sent again. */
  retryAll(rule: Rule, reason: string): void {
    for (const index of this.#find(rule)) this.retry(index, reason);
  }

  /**
   * Rejects the entries that match the rule, unless there are more than `count`: then they are only counted, because they
   * cannot be identified.
   */
  refuseUpTo(count: number, reason: string, rule: Rule): void {
    if (count <= 0) return;
    const fitting = this.#find(rule);
    const refused = fitting.length > count ? [] : fitting;
    for (const index of refused) this.refuse(index, reason);
    this.#countUnnamed(count - refused.length, reason);
  }

  /** Returns the results; `undefined` when there are none. */
  finish(): DeliveryReport | undefined {
    const left = this.#sent.length - this.#refused.size - this.#retry.size;
    if (this.#refused.size + this.#retry.size + this.#unnamed === 0) return undefined;
    if (this.#unnamed >= left) {
      // Every remaining entry was rejected, so they are identified after all.
      for (const index of this.#find(() => true)) this.refuse(index, this.#unnamedReason);
      this.#unnamed = 0;
    }
    const refused = Array.from(this.#refused, ([index, refusal]) => ({ index, ...refusal }));
    const [reason = ''] = this.#retry.values();
    return {
      refused: refused.toSorted((one, other) => one.index - other.index),
      ...(this.#unnamed > 0 && {
        refusedUnnamed: { records: this.#unnamed, reason: sanitizeErrorText(this.#unnamedReason) },
      }),
      ...(this.#retry.size > 0 && {
        retry: {
          indexes: [...this.#retry.keys()].toSorted((one, other) => one - other),
          reason: sanitizeErrorText(reason),
        },
      }),
    };
  }

  #countRefused(rule: Rule): number {
    return this.#sent.filter((entry, index) => this.#refused.has(index) && rule(entry, index)).length;
  }

  #countUnnamed(count: number, reason: string): void {
    if (count <= 0) return;
    if (this.#unnamed === 0) this.#unnamedReason = reason;
    this.#unnamed += count;
  }

  #find(rule: Rule): number[] {
    return this.#sent.flatMap((entry, index) =>
      !this.#refused.has(index) && !this.#retry.has(index) && rule(entry, index) ? [index] : [],
    );
  }
}

const GO_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(?:Z|([+-]\d\d):?(\d\d))/;

/**
 * Parses a time as Go prints it, `2025-10-26 00:59:58.000018231 +0000 UTC` or `2025-10-26T00:59:58Z`, to nanoseconds since
 * the Unix epoch, in decimal.
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
 * Parses stream labels as Loki prints them, `{component="network", router="plant-7"}`, to a key. Omits labels that Loki adds
 * itself, such as `__stream_shard__`.
 */
export function parseLabelSet(text: string | undefined): string | undefined {
  if (!text?.startsWith('{') || !text.endsWith('}')) return undefined;
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 1;
  while (LABEL.lastIndex < text.length - 1) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) return undefined;
    if (!name.startsWith('__')) labels[name] = unquoteGo(value);
  }
  const names = Object.keys(labels).toSorted();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
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
