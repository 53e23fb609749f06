import { KnownNames } from './known-names.ts';
import { maskIdentity, maskSecret, maskText } from './mask-text.ts';
import { type MaskBook, Placeholders, SensitivePieces } from './placeholders.ts';
import { classifyName, isHarmless, type Sensitivity } from './sensitive-names.ts';

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

/**
 * Masks what must not leave the house in the documents of one router: numbers of devices, cards and people, addresses, names
 * and places, and secrets. It goes by the names of fields and by the form of texts, so a person has to look as well.
 *
 * The shape stays: names of fields, numbers of digits, kinds of addresses. The same value has the same mask in all
 * documents, also in the middle of other texts. Pure: the same documents give the same masks.
 */
export class DocumentMasker {
  readonly #book: MaskBook;
  readonly #names: KnownNames;

  constructor(documents: Iterable<unknown>) {
    const pieces = new SensitivePieces();
    for (const document of documents) new MaskWalk(pieces, undefined).walk(document);
    this.#book = new Placeholders(pieces);
    this.#names = new KnownNames(pieces.names);
  }

  /** A copy without what is sensitive. */
  mask(document: unknown): unknown {
    return new MaskWalk(this.#book, this.#names).walk(document);
  }

  /** Whether something in a text would be masked, wherever it stands. */
  isSensitive(text: string): boolean {
    return text.length > TEXT_LENGTH_MAX || maskText(text, this.#book, this.#names) !== text;
  }
}

/** One way through one document; bounded, whatever the document. */
class MaskWalk {
  readonly #book: MaskBook;
  readonly #names: KnownNames | undefined;
  #values = 0;

  constructor(book: MaskBook, names: KnownNames | undefined) {
    this.#book = book;
    this.#names = names;
  }

  walk(document: unknown): unknown {
    return this.#walk(document, '', undefined, 0);
  }

  #walk(value: unknown, name: string, sensitivity: Sensitivity | undefined, depth: number): unknown {
    if (++this.#values > VALUES_MAX || depth > DEPTH_MAX) return LEFT_OUT;
    if (typeof value === 'string') return this.#maskText(value, name, sensitivity);
    if (typeof value === 'number') return this.#maskNumber(value, name, sensitivity);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const room = Math.max(0, VALUES_MAX - this.#values) + 1;
      return value.slice(0, room).map((item: unknown) => this.#walk(item, name, sensitivity, depth + 1));
    }
    return this.#walkFields(value, sensitivity, depth);
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
      const key = this.#maskKey(name, masked);
      masked.set(key, this.#walk(value, name, inherited, depth + 1));
    }
    return Object.fromEntries(masked);
  }

  /** A name of a field can be an address as well. */
  #maskKey(name: string, taken: ReadonlyMap<string, unknown>): string {
    const masked = name.length > TEXT_LENGTH_MAX ? LEFT_OUT : maskText(name, this.#book, this.#names);
    let key = masked;
    for (let count = 2; taken.has(key); count++) key = `${masked} ${count}`;
    return key;
  }

  #maskText(text: string, name: string, sensitivity: Sensitivity | undefined): string {
    if (text.length > TEXT_LENGTH_MAX) return LEFT_OUT;
    if (sensitivity === 'secret') return maskSecret(text, this.#book);
    if (sensitivity === 'identity' && !isHarmless(name, text)) return maskIdentity(text, this.#book);
    return maskText(text, this.#book, this.#names);
  }

  /** A number stays a number. */
  #maskNumber(value: number, name: string, sensitivity: Sensitivity | undefined): number {
    const text = String(value);
    const isNamed = sensitivity === 'secret' || (sensitivity === 'identity' && !isHarmless(name, text));
    const isFound = maskText(text, this.#book, this.#names) !== text;
    return isNamed || isFound ? Number(this.#book.replace('number', text, isNamed)) : value;
  }
}
