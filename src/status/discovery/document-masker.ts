import { classifyName, FORMS, isHarmless, type MaskKind, type Sensitivity, STAND_INS } from './mask-table.ts';

/** Deepest nesting, and most values of a document, that are taken over. Real ones have 6 levels and some thousand values. */
const DEPTH_MAX = 32;
const VALUES_MAX = 100_000;
/** Longest text that is taken over; real ones are below 100 characters. */
const TEXT_LENGTH_MAX = 8192;
/** Stands for what was too much. */
const LEFT_OUT = '[left out]';

/** Names of fields that say what the field beside them is, and of that field. */
const NAMING_FIELD = /^(?:field|key|label|name|p|param|parameter|property|title)$/i;
const VALUE_FIELD = /^(?:content|data|text|v|val|value)$/i;
/** A key and its value in the middle of a text: `password=…`, `"imei": "…"`. */
const KEY_VALUE = /([A-Za-z][\w.-]{0,63})["']? {0,4}[=:] {0,4}(?:(["'])([^"']*)|([^,;&\n\r]+))/dg;

/** Shortest text, and shortest number, that is looked for inside other texts: shorter ones are words and counts as well. */
const NAME_LENGTH_MIN = 4;
const NUMBER_LENGTH_MIN = 5;
/** Names that are looked for inside other texts: bounds the work for a router that sends many thousands. */
const NAMES_MAX = 1000;

/**
 * Masks what must not leave the house in the documents of one router: numbers of devices, cards and people, addresses, names
 * and places, and secrets. It goes by the names of fields and by the form of texts, so a person has to look as well.
 *
 * Names of fields, numbers of digits and kinds of addresses stay. The same value has the same mask in all documents, also in
 * the middle of other texts. Pure: the same documents give the same masks.
 */
export class DocumentMasker {
  readonly #masks = new Masks();

  constructor(documents: Iterable<unknown>) {
    for (const document of documents) new MaskWalk(this.#masks).walk(document);
    this.#masks.beginReplacing();
  }

  /** A copy without what is sensitive. */
  mask(document: unknown): unknown {
    return new MaskWalk(this.#masks).walk(document);
  }

  /** Whether something in a text would be masked, wherever it stands. */
  isSensitive(text: string): boolean {
    return text.length > TEXT_LENGTH_MAX || this.#masks.maskText(text) !== text;
  }
}

/**
 * Gathers every sensitive piece first, and changes nothing; then gives each a stand-in: the same for the same piece, another
 * one for another, and never one of the pieces themselves.
 */
class Masks {
  readonly #pieces = new Set<string>();
  readonly #names = new Set<string>();
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Finds what fields have given away, wherever else it stands; `undefined` while pieces are gathered. */
  #namesPattern: RegExp | undefined;

  beginReplacing(): void {
    const names = [...this.#names].toSorted((a, b) => b.length - a.length).slice(0, NAMES_MAX);
    const words = names.map((name) => RegExp.escape(name)).join('|') || '(?!)';
    this.#namesPattern = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${words})(?![\p{L}\p{N}])`, 'giu');
  }

  /** A text of a field whose name tells nothing: what in it is sensitive by its form, by a key before it, or known. */
  maskText(text: string): string {
    const pattern = this.#namesPattern;
    const maskRest = (rest: string) =>
      this.#maskForms(rest, (plain) =>
        pattern ? plain.replace(pattern, (name) => this.replace('text', name)) : plain,
      );
    let masked = '';
    let from = 0;
    for (const { 1: key = '', 3: quoted, 4: bare = '', indices } of text.matchAll(KEY_VALUE)) {
      const value = quoted ?? bare;
      const sensitivity = classifyName(key);
      if (!sensitivity || value === '' || (sensitivity === 'identity' && isHarmless(key, value))) continue;
      const [start, end] = indices?.[quoted === undefined ? 4 : 3] ?? [0, 0];
      masked += maskRest(text.slice(from, start)) + this.maskValue(value, sensitivity);
      from = end;
    }
    return masked + maskRest(text.slice(from));
  }

  /** A text that tells who or where, or opens something, by the name of its field: nothing of it is left but its form. */
  maskValue(text: string, sensitivity: Sensitivity): string {
    if (sensitivity === 'identity') return this.#maskForms(text, (rest) => this.#maskWhole(rest, 'text'));
    return this.#maskWhole(text, /^\s*\d+\s*$/.test(text) ? 'text' : 'secret');
  }

  /** `isName`: the text is sensitive as a whole, so that it must not show in the middle of another text either. */
  replace(kind: MaskKind, original: string, isName = false): string {
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
    // Stand-ins of one form share a count, so that there is no long search for one that is free.
    const form = STAND_INS[kind](0, original);
    for (;;) {
      const count = (this.#counts.get(form) ?? 0) + 1;
      this.#counts.set(form, count);
      const standIn = STAND_INS[kind](count, original);
      if (this.#pieces.has(standIn) || this.#used.has(standIn)) continue;
      this.#used.add(standIn);
      return standIn;
    }
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
      masked += this.replace(kind, found.slice(start), kind === 'secret');
      from = at + found.length;
    }
    return masked + this.#maskForms(text.slice(from), maskRest, index + 1);
  }

  /** What stands around it stays, and so does the length of the prefix behind an address. */
  #maskWhole(text: string, kind: MaskKind): string {
    if (/^\/\d{1,3}$/.test(text.trim())) return text;
    const core = kind === 'secret' ? /\S(?:.*\S)?/s : /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su;
    return text.replace(core, (found) => this.replace(kind, found, true));
  }
}

/** One way through one document; bounded, whatever the document. */
class MaskWalk {
  readonly #masks: Masks;
  #values = 0;

  constructor(masks: Masks) {
    this.#masks = masks;
  }

  walk(value: unknown, name = '', sensitivity?: Sensitivity, depth = 0): unknown {
    if (++this.#values > VALUES_MAX || depth > DEPTH_MAX) return LEFT_OUT;
    if (typeof value === 'string') return this.#maskText(value, name, sensitivity);
    if (typeof value === 'number') return this.#maskNumber(value, name, sensitivity);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return this.#walkFields(value, sensitivity, depth);
    const room = Math.max(0, VALUES_MAX - this.#values) + 1;
    return value.slice(0, room).map((item: unknown) => this.walk(item, name, sensitivity, depth + 1));
  }

  #walkFields(fields: object, sensitivity: Sensitivity | undefined, depth: number): object {
    const masked = new Map<string, unknown>();
    const entries = Object.entries(fields);
    const named = entries.find(([name, value]) => NAMING_FIELD.test(name) && typeof value === 'string');
    const ofNamed = named && classifyName(String(named[1]).slice(0, TEXT_LENGTH_MAX));
    for (const [name, value] of entries) {
      if (this.#values >= VALUES_MAX) break;
      const own = classifyName(name) ?? (VALUE_FIELD.test(name) ? ofNamed : undefined);
      const inherited = sensitivity === 'secret' || own === 'secret' ? 'secret' : (own ?? sensitivity);
      masked.set(this.#maskKey(name, masked), this.walk(value, name, inherited, depth + 1));
    }
    return Object.fromEntries(masked);
  }

  /** A name of a field can be an address as well. */
  #maskKey(name: string, taken: ReadonlyMap<string, unknown>): string {
    const masked = this.#maskText(name, '', undefined);
    let key = masked;
    for (let count = 2; taken.has(key); count++) key = `${masked} ${count}`;
    return key;
  }

  #maskText(text: string, name: string, sensitivity: Sensitivity | undefined): string {
    if (text.length > TEXT_LENGTH_MAX) return LEFT_OUT;
    const isPlain = !sensitivity || (sensitivity === 'identity' && isHarmless(name, text));
    return isPlain ? this.#masks.maskText(text) : this.#masks.maskValue(text, sensitivity);
  }

  /** A number stays a number. */
  #maskNumber(value: number, name: string, sensitivity: Sensitivity | undefined): number {
    const text = String(value);
    const isNamed = sensitivity === 'secret' || (sensitivity === 'identity' && !isHarmless(name, text));
    const isFound = this.#masks.maskText(text) !== text;
    return isNamed || isFound ? Number(this.#masks.replace('number', text, isNamed)) : value;
  }
}
