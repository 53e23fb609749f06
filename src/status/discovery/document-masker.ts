import { classifyName, FORMS, isSensitiveText, type MaskKind, type Sensitivity, STAND_INS } from './mask-table.ts';

/** Maximum nesting and number of values copied from a document. Real ones have 6 levels and some thousand values. */
const DEPTH_MAX = 32;
const VALUES_MAX = 100_000;
/** Longest text that is copied; real ones are below 100 characters. */
const TEXT_LENGTH_MAX = 8192;
/** Replacement for what exceeds a limit. */
const LEFT_OUT = '[left out]';

/** Names of fields that describe the field next to them. */
const NAMING_FIELD = /^(?:field|key|label|name|p|param|parameter|property|title)$/i;
const VALUE_FIELD = /^(?:content|data|text|v|val|value)$/i;
/** A key and its value inside a text: `password=…`, `"imei": "…"`. */
const KEY_VALUE = /([A-Za-z][\w.-]{0,63})["']? {0,4}[=:] {0,4}(?:(["'])([^"']*)|([^,;&\n\r]+))/dg;

/**
 * Minimum length of texts and numbers that are searched for in other texts: shorter ones also occur as words and
 * counts.
 */
const NAME_LENGTH_MIN = 4;
const NUMBER_LENGTH_MIN = 5;
/** Maximum number of names searched for in other texts: bounds the work for a router that sends many thousands. */
const NAMES_MAX = 1000;

/**
 * Masks sensitive data in the documents of one router: numbers of devices, cards and people, addresses, names and
 * places, and secrets. It relies on the names of fields and the form of texts, so a person has to check the result.
 * Field names, numbers of digits and kinds of addresses stay. A value has the same mask in all documents, also inside
 * other texts. Pure: the same documents give the same masks.
 *
 * Every sensitive text is collected first, without changing anything. Then each gets a replacement: the same for the
 * same text, a different one for a different text, and never one of the sensitive texts.
 */
export class DocumentMasker {
  readonly #pieces = new Set<string>();
  readonly #names = new Set<string>();
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Matches values found in sensitive fields wherever else they occur; `undefined` while texts are collected. */
  #namesPattern: RegExp | undefined;
  /** Values examined in the current document. */
  #values = 0;

  constructor(documents: Iterable<unknown>) {
    for (const document of documents) this.mask(document);
    const names = [...this.#names].toSorted((a, b) => b.length - a.length).slice(0, NAMES_MAX);
    const words = names.map((name) => RegExp.escape(name)).join('|') || '(?!)';
    this.#namesPattern = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${words})(?![\p{L}\p{N}])`, 'giu');
  }

  /** Returns a copy without sensitive data. */
  mask(document: unknown): unknown {
    this.#values = 0;
    return this.#walk(document);
  }

  /** Returns true if something in a text would be masked, wherever it occurs. */
  isSensitive(text: string): boolean {
    return text.length > TEXT_LENGTH_MAX || this.#maskText(text) !== text;
  }

  #walk(value: unknown, name = '', sensitivity?: Sensitivity, depth = 0): unknown {
    if (++this.#values > VALUES_MAX || depth > DEPTH_MAX) return LEFT_OUT;
    if (typeof value === 'string') return this.#maskField(value, name, sensitivity);
    if (typeof value === 'number') return this.#maskNumber(value, name, sensitivity);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return this.#walkFields(value, sensitivity, depth);
    return value.slice(0, VALUES_MAX - this.#values + 1).map((item) => this.#walk(item, name, sensitivity, depth + 1));
  }

  #walkFields(fields: object, sensitivity: Sensitivity | undefined, depth: number): object {
    const masked = new Map<string, unknown>();
    const entries = Object.entries(fields);
    const named = entries.find(([name, value]) => NAMING_FIELD.test(name) && typeof value === 'string');
    const ofNamed = named && classifyName(String(named[1]).slice(0, TEXT_LENGTH_MAX));
    for (const [name, value] of entries) {
      if (this.#values >= VALUES_MAX) break;
      const own = classifyName(name) ?? (VALUE_FIELD.test(name) ? ofNamed : undefined);
      const inherited = sensitivity === 'secret' ? sensitivity : (own ?? sensitivity);
      // A field name can itself be an address.
      const maskedName = this.#maskField(name);
      let key = maskedName;
      for (let count = 2; masked.has(key); count++) key = `${maskedName} ${count}`;
      masked.set(key, this.#walk(value, name, inherited, depth + 1));
    }
    return Object.fromEntries(masked);
  }

  #maskField(text: string, name = '', sensitivity?: Sensitivity): string {
    if (text.length > TEXT_LENGTH_MAX) return LEFT_OUT;
    return isSensitiveText(sensitivity, name, text) ? this.#maskValue(text, sensitivity) : this.#maskText(text);
  }

  /** Masks a number; the result is a number. */
  #maskNumber(value: number, name: string, sensitivity: Sensitivity | undefined): number {
    const text = String(value);
    const isNamed = isSensitiveText(sensitivity, name, text);
    const isFound = this.#maskText(text) !== text;
    return isNamed || isFound ? Number(this.#replace('number', text, isNamed)) : value;
  }

  /**
   * Masks a text of a field with a neutral name: what is sensitive by its form, by a key before it, or already known.
   */
  #maskText(text: string): string {
    const pattern = this.#namesPattern ?? /(?!)/;
    const maskNames = (rest: string) => rest.replace(pattern, (name) => this.#replace('text', name));
    let masked = '';
    let from = 0;
    for (const { 1: key = '', 3: quoted, 4: bare = '', indices } of text.matchAll(KEY_VALUE)) {
      const value = quoted ?? bare;
      const sensitivity = classifyName(key);
      if (value === '' || !isSensitiveText(sensitivity, key, value)) continue;
      const [start, end] = indices?.[quoted === undefined ? 4 : 3] ?? [0, 0];
      masked += this.#maskForms(text.slice(from, start), maskNames) + this.#maskValue(value, sensitivity);
      from = end;
    }
    return masked + this.#maskForms(text.slice(from), maskNames);
  }

  /** Masks a text that is sensitive by the name of its field: only its form is kept. */
  #maskValue(text: string, sensitivity: Sensitivity): string {
    if (sensitivity === 'identity') return this.#maskForms(text, (rest) => this.#maskWhole(rest, 'text'));
    return this.#maskWhole(text, /^\s*\d+\s*$/.test(text) ? 'text' : 'secret');
  }

  #maskForms(text: string, maskRest: (rest: string) => string, index = 0): string {
    const [kind, pattern, find = () => 0] = FORMS[index] ?? [];
    if (!kind || !pattern) return maskRest(text);
    let masked = '';
    let from = 0;
    for (const { 0: found, index: at } of text.matchAll(pattern)) {
      const start = find(found);
      if (start === undefined) continue;
      masked += this.#maskForms(text.slice(from, at + start), maskRest, index + 1);
      masked += this.#replace(kind, found.slice(start), kind === 'secret');
      from = at + found.length;
    }
    return masked + this.#maskForms(text.slice(from), maskRest, index + 1);
  }

  /** Keeps what surrounds the value, and the prefix length of an address. */
  #maskWhole(text: string, kind: MaskKind): string {
    if (/^\/\d{1,3}$/.test(text.trim())) return text;
    const core = kind === 'secret' ? /\S(?:.*\S)?/s : /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su;
    return text.replace(core, (found) => this.#replace(kind, found, true));
  }

  /** `isName`: the text is sensitive as a whole, so it must not occur inside another text either. */
  #replace(kind: MaskKind, original: string, isName = false): string {
    const key = original.toLowerCase();
    if (this.#namesPattern === undefined) {
      this.#pieces.add(key);
      if (isName && key.length >= (/^\d+$/.test(key) ? NUMBER_LENGTH_MIN : NAME_LENGTH_MIN)) this.#names.add(key);
      return original;
    }
    const id = kind === 'number' ? `number ${key}` : key;
    const standIn = this.#given.get(id) ?? this.#nextFree(kind, original);
    this.#given.set(id, standIn);
    return standIn;
  }

  #nextFree(kind: MaskKind, original: string): string {
    // Replacements of one form share a counter, so that a free one is found quickly.
    const form = STAND_INS[kind](0, original);
    let count = this.#counts.get(form) ?? 0;
    let standIn: string;
    do standIn = STAND_INS[kind](++count, original);
    while (this.#pieces.has(standIn) || this.#used.has(standIn));
    this.#counts.set(form, count);
    this.#used.add(standIn);
    return standIn;
  }
}
