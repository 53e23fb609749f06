/** What a piece of text is; decides what stands in for it. */
export type MaskKind = 'text' | 'number' | 'secret' | 'ipv4' | 'ipv6' | 'mac' | 'host' | 'mail' | 'pem';

/** Takes the sensitive pieces of texts and says what stands in for each. */
export interface MaskBook {
  /** `isName`: the text is sensitive as a whole, so that it must not show in the middle of another text either. */
  replace(kind: MaskKind, original: string, isName?: boolean): string;
}

/** Shortest text, and shortest number, that is looked for inside other texts: shorter ones are words and counts as well. */
const NAME_LENGTH_MIN = 4;
const NUMBER_LENGTH_MIN = 5;

/** Gathers what is sensitive and changes nothing. */
export class SensitivePieces implements MaskBook {
  readonly #pieces = new Set<string>();
  readonly #names = new Set<string>();

  /** In lower case. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  replace(_kind: MaskKind, original: string, isName = false): string {
    const key = original.toLowerCase();
    this.#pieces.add(key);
    const lengthMin = /^\d+$/.test(key) ? NUMBER_LENGTH_MIN : NAME_LENGTH_MIN;
    if (isName && key.length >= lengthMin) this.#names.add(key);
    return original;
  }

  has(text: string): boolean {
    return this.#pieces.has(text.toLowerCase());
  }
}

/**
 * Gives every sensitive piece a placeholder: the same for the same piece, another one for another, and never one of the
 * pieces themselves. They are numbered in the order of asking.
 */
export class Placeholders implements MaskBook {
  readonly #pieces: SensitivePieces;
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(pieces: SensitivePieces) {
    this.#pieces = pieces;
  }

  replace(kind: MaskKind, original: string): string {
    const key = kind === 'number' ? `number ${original}` : original.toLowerCase();
    const known = this.#given.get(key);
    if (known !== undefined) return known;
    const placeholder = this.#next(kind, original);
    this.#given.set(key, placeholder);
    return placeholder;
  }

  #next(kind: MaskKind, original: string): string {
    // Placeholders of one form share a count, so that there is no search for one that is free.
    const form = kind === 'text' || kind === 'number' ? `${kind} ${toShape(original)}` : kind;
    for (;;) {
      const count = (this.#counts.get(form) ?? 0) + 1;
      this.#counts.set(form, count);
      const placeholder = render(kind, original, count);
      const lower = placeholder.toLowerCase();
      if (this.#pieces.has(lower) || this.#used.has(lower)) continue;
      this.#used.add(lower);
      return placeholder;
    }
  }
}

const RENDER: Readonly<Record<Exclude<MaskKind, 'text'>, (count: number, original: string) => string>> = {
  secret: (count) => `masked-${count}`,
  // The network for tests of devices, RFC 2544; after its 131,072 addresses a private one.
  ipv4: (count) => (count < 2 ** 17 ? `198.${18 + (count >> 16)}` : `10.${(count >> 16) & 255}`) + renderLow(count),
  number: renderNumber,
  ipv6: (count, original) => `${/^fe80/i.test(original) ? 'fe80:' : '2001:db8:'}:${renderGroups(count)}`,
  mac: renderMac,
  host: (count, original) => (original.split('.').length > 2 ? `host${count}.example.net` : `host${count}.example`),
  mail: (count) => `user${count}@example.net`,
  pem: (count) => `-----BEGIN MASKED-----\nmasked-${count}\n-----END MASKED-----`,
};

function render(kind: MaskKind, original: string, count: number): string {
  return kind === 'text' ? renderText(original, count) : RENDER[kind](count, original);
}

function renderLow(count: number): string {
  return `.${(count >> 8) & 255}.${count & 255}`;
}

function renderGroups(count: number): string {
  const high = Math.floor(count / 65_536);
  return (high > 0 ? `${high.toString(16)}:` : '') + (count % 65_536).toString(16);
}

/** Zeros but for the count at the end, with the separators that it had. */
function renderMac(count: number, original: string): string {
  const length = original.replaceAll(/[^0-9a-f]/gi, '').length;
  const digits = count.toString(16).padStart(length, '0');
  let at = 0;
  return original.replaceAll(/[0-9a-f]/gi, () => digits[at++] ?? '0');
}

/** How many digits of a long number count: there are more in it than a number can hold. */
const NUMBER_COUNT_LENGTH = 6;

/** A number of the same length, without zeros at its start, which would be lost. */
function renderNumber(count: number, original: string): string {
  if (!/^\d+$/.test(original)) {
    const masked = renderText(original, count).replace(/\d/, '1');
    return Number.isFinite(Number(masked)) ? masked : String(count);
  }
  const length = original.length - 1;
  const digits = String(count).padStart(Math.min(NUMBER_COUNT_LENGTH, length), '0');
  return length === 0 ? String(count) : `1${digits}`.padEnd(length + 1, '0');
}

/** Letters and digits that a count can be written with, by the place. */
const DIGITS = '0123456789';
const HEX_LETTERS = 'abcdef';
const LETTERS = 'xabcdefghijklmnopqrstuvwyz';

/** A hexadecimal number of this length is no number for people, so that any digit may stand for any other. */
const LONG_HEX_LENGTH = 12;

/** The same text with all letters and digits replaced: digits stay digits, and hexadecimal stays hexadecimal. */
function renderText(original: string, count: number): string {
  if (isLongHex(original)) return renderMac(count, original);
  const letters = isHexadecimal(original) ? HEX_LETTERS : LETTERS;
  const prefix = letters === HEX_LETTERS ? (/^0x/i.exec(original)?.[0] ?? '') : '';
  const masked: string[] = [];
  let rest = count;
  for (const character of Array.from(original.slice(prefix.length)).toReversed()) {
    const alphabet = /\d/.test(character) ? DIGITS : letters;
    if (isKept(character)) masked.push(character);
    else {
      const place = alphabet[rest % alphabet.length] ?? 'x';
      rest = Math.floor(rest / alphabet.length);
      masked.push(/\p{Lu}/u.test(character) ? place.toUpperCase() : place);
    }
  }
  // A short text has few of its kind; then another kind stands in for it.
  return rest > 0 ? toLonger(original, count) : prefix + masked.toReversed().join('');
}

function toLonger(original: string, count: number): string {
  return /^\d+$/.test(original) ? String(count).padStart(original.length + 1, '0') : `masked-${count}`;
}

/** What texts must have in common to share a count: letters are as good as other letters. */
function toShape(original: string): string {
  if (isLongHex(original)) return `hex ${original.length}`;
  const letter = isHexadecimal(original) ? 'f' : 'x';
  return Array.from(original)
    .map((character) => (isKept(character) ? character : /\d/.test(character) ? '0' : letter))
    .join('');
}

function isKept(character: string): boolean {
  return /^[ -/:-@[-`{-~°′″]$/.test(character);
}

function isLongHex(text: string): boolean {
  return /[a-f]/i.test(text) && isHexadecimal(text) && text.replaceAll(/[^0-9a-f]/gi, '').length >= LONG_HEX_LENGTH;
}

function isHexadecimal(text: string): boolean {
  return /\d/.test(text) && /^(?:0x)?[\da-f]+(?:[-:. ][\da-f]+)*$/i.test(text);
}
