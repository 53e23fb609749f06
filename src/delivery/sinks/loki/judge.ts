import type { DeliveryReport, Refusal } from '../../contracts.ts';
import { toWords } from '../../http/words.ts';
import type { SentEntry, StreamKey } from './request.ts';

/** What became of the entries of a push that Loki did not take as a whole. */
export type PartialAnswer = Pick<DeliveryReport, 'refused' | 'refusedUnnamed' | 'retry' | 'warning'>;

/** Whether an entry, which was pushed as the so many-th, is one of those that are meant. */
export type Rule = (entry: SentEntry, index: number) => boolean;

/** What a kind of Loki's words means. */
export interface Reading {
  /** From the captured texts: what holds for every entry that these words condemn, named or not. */
  readonly rule: (...captured: readonly (string | undefined)[]) => Rule;
  /** From the captured texts: what the named entry fulfils, though others may do so too. */
  readonly named?: (...captured: readonly (string | undefined)[]) => Rule;
  readonly isUncounted?: boolean;
}

const CODE = '400';

/** Collects what became of which entry; each is judged once. */
export class LokiJudge {
  readonly #sent: readonly SentEntry[];
  readonly #refused = new Map<number, Refusal>();
  readonly #putOff = new Map<number, string>();
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

  /** An entry by its time, not judged yet. */
  findAt(stream: StreamKey | undefined, ns: string | undefined): number | undefined {
    return this.#find((entry) => entry.ns === ns && (stream === undefined || entry.stream === stream))[0];
  }

  refuse(index: number, reason: string): void {
    this.#refused.set(index, { reason: toWords(reason), code: CODE });
  }

  /** It may come again. */
  putOff(index: number, reason: string): void {
    this.#putOff.set(index, reason);
  }

  /** So many more were refused: those that fit the rule, and the others are only counted. */
  refuseUpTo(count: number, reason: string, rule: Rule): void {
    const refused = count > 0 ? this.#refuseAll(count, reason, rule) : 0;
    this.#countUnnamed(count - refused, reason);
  }

  finish(): PartialAnswer | undefined {
    const left = this.#sent.length - this.#refused.size - this.#putOff.size;
    if (this.#refused.size + this.#putOff.size + this.#unnamed === 0) return undefined;
    if (this.#unnamed >= left) {
      // When all that is left was refused, it is known after all which ones.
      for (const index of this.#find(() => true)) this.refuse(index, this.#unnamedReason);
      this.#unnamed = 0;
    }
    const refused = Array.from(this.#refused, ([index, refusal]) => ({ index, ...refusal }));
    const [reason = ''] = this.#putOff.values();
    return {
      refused: refused.toSorted((one, other) => one.index - other.index),
      ...(this.#unnamed > 0 && { refusedUnnamed: { records: this.#unnamed, reason: toWords(this.#unnamedReason) } }),
      ...(this.#putOff.size > 0 && {
        retry: { indexes: [...this.#putOff.keys()].toSorted((one, other) => one - other), reason: toWords(reason) },
      }),
    };
  }

  /** Refuses all that fit the rule, unless they are more than were refused; then it is not known which. */
  #refuseAll(countMax: number, reason: string, rule: Rule): number {
    const fitting = this.#find(rule);
    if (fitting.length > countMax) return 0;
    for (const index of fitting) this.refuse(index, reason);
    return fitting.length;
  }

  #countRefused(rule: Rule): number {
    return this.#sent.filter((entry, index) => this.#refused.has(index) && rule(entry, index)).length;
  }

  #countUnnamed(count: number, reason: string): void {
    if (count <= 0) return;
    if (this.#unnamed === 0) this.#unnamedReason = reason;
    this.#unnamed += count;
  }

  /** Entries that fit a rule and are not judged yet. */
  #find(rule: Rule): number[] {
    return this.#sent.flatMap((entry, index) =>
      !this.#refused.has(index) && !this.#putOff.has(index) && rule(entry, index) ? [index] : [],
    );
  }
}
