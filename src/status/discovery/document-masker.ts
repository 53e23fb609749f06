import { isIPv6 } from 'node:net';
import { splitWords } from './metric-names.ts';

/** By the name of the field. `secret`: grants access. `identity`: identifies a person, device or place. */
type Sensitivity = 'secret' | 'identity';

type MaskKind = keyof typeof STAND_INS;

const toSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/));

/** Words in field names, and parts that are unambiguous even inside a word. */
const KEYS: readonly (readonly [Sensitivity, words: ReadonlySet<string>, parts: RegExp])[] = [
  [
    'secret',
    toSet('authorization bearer cookie jwt key keys pass private psk pw pwd sid'),
    /apikey|credential|passphrase|passw|presharedkey|privatekey|secret|sessionid|token/,
  ],
  [
    'identity',
    toSet(`
      account addr address addresses altitude apn area callee caller called calling cell cid comment contact coord
      coordinate coordinates coords customer description dns domain domainname eci email enb enodeb eui fingerprint fqdn
      gateway geo gnb gnss gps guid gw host hosts ip ips ipv lac lat lladdr lng loc login lon mac macs mail meid
      nameserver note notes owner pci peer pin pins puk puks recipient remote sender serial serials server site sn
      street subscriber tac tel uri url urls user users vin`),
    /cellid|hostname|iccid|imei|imsi|ipaddr|latitude|location|longitude|macaddr|msisdn|phone|serialn|ssid|username|usim|uuid/,
  ],
];

/** After these words at the end of a name the value is a state of the thing, not the thing itself. */
const STATE_WORDS = toSet(`
  active attempts available changed conflict enabled family kind left len length level locked mode ok protocol quality ready
  retries size state status strength tries type valid version`);
/** After these words the value is a number of any size. */
const COUNT_WORDS = toSet(`
  age bytes count counter days errors expires expiry lifetime metric mtu packets rate rx speed ttl tx`);
const EVERYDAY_WORD =
  /^(?:|-+|0|any|auto|default|dhcp|disabled|down|enabled|false|n\/a|no|none|not available[a-z ]{0,40}|off|ok|on|static|true|unknown|up|yes)$/i;

const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|[01]?\d?\d)`;
const HEX = '[0-9a-fA-F]';
const ALONE = '(?![0-9a-zA-Z])';
const SCHEME = String.raw`(?<=\b[A-Za-z][A-Za-z0-9+.-]{1,15}:\/\/@?)`;
const LABEL = String.raw`[\p{L}\p{N}_][\p{L}\p{N}_-]{0,62}\.`;
const all = (parts: TemplateStringsArray, ...inner: string[]) => new RegExp(String.raw(parts, ...inner), 'gu');

/** `find` returns where the sensitive part of a match starts; `undefined`: nowhere. Default 0. */
type Form = readonly [kind: MaskKind, pattern: RegExp, find?: (found: string) => number | undefined];

function hasAll(...parts: RegExp[]) {
  return (found: string) => (parts.every((part) => part.test(found)) ? 0 : undefined);
}
const isHex = hasAll(/[a-f]/i, /\d/);

/** Each pattern is applied to the text left over by the previous ones. */
const FORMS: readonly Form[] = [
  ['pem', /-----BEGIN [^-]{1,64}-----.*?(?:-----END [^-]{1,64}-----|$)/gs],
  // The credentials in a URL, and a host without a dot.
  ['secret', all`${SCHEME}[^\s/?#"'<>\\]+(?=@)`],
  ['secret', all`${SCHEME}[^\s/?#"'<>\\@:.[\]]+(?=[:/?#\s"'<>\\]|$)`],
  ['secret', /\beyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*/g],
  ['secret', /(?<=\b(?:bearer|basic|digest) {1,8})[\w+/=.~-]{12,}/gi],
  ['mail', /[^\s@"'<>(),;:]{1,128}@[^\s@"'<>(),;]{1,255}/g],
  ['hex', all`(?<!${HEX})(?:(?:${HEX}{2}[:-]){5,}${HEX}{2}|${HEX}{4}\.${HEX}{4}\.${HEX}{4})(?!${HEX})`],
  ['ipv6', all`(?<![0-9a-fA-F:])${HEX}*:[0-9a-fA-F:]*:[0-9a-fA-F:]*`, findIpv6],
  // The excluded addresses and netmasks exist on every device.
  ['ipv4', all`(?<!\d)(?!(?:0|127|255)\.)(?:${OCTET}\.){3}${OCTET}(?!\d)`],
  // UUIDs, hashes and keys, which stay hexadecimal, then base64. Twelve digits without a letter are a count.
  ['hex', all`(?<![0-9a-zA-Z])(?:${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}|${HEX}{32,})${ALONE}`, isHex],
  ['hex', all`(?<![0-9a-zA-Z])${HEX}{12}${ALONE}`, isHex],
  ['secret', /(?<![\w+/])[\w+/-]{32,}={0,2}/g, hasAll(/[a-z]/, /[A-Z]/, /\d/)],
  ['text', /(?<!\d)(?<!\d\.)\d{14,}(?!\d)/g],
  // The digits of a long number in groups; a date has fewer.
  ['text', /(?<![\d.-])\d{1,8}(?:-\d{1,8}){2,5}(?!\d)/g, hasAll(/^(?:-?\d){14,20}$/)],
  ['host', all`(?<![\p{L}\p{N}_-])(?:${LABEL}){1,10}(?:\p{L}{2,63}|xn--[a-z0-9-]{2,59})\.?(?![\p{L}\p{N}_-])`],
  ['text', /\+\d[\d ()/.-]{6,20}\d/g],
  // 48.1372, 11.5755 and 48°8'14"N.
  ['text', /(?<![\d.])[-+]?\d{1,3}\.\d{4,}[ °NSEW]{0,4}[,;/ ] *[-+]?\d{1,3}\.\d{4,}/g],
  ['text', /\d{1,3} ?° ?\d{1,2}(?:[.,]\d+)? ?['′](?: ?[\d.,]+ ?(?:"|″|''))?/g],
];

/** Replacement for the `count`-th text of a kind. */
const STAND_INS = {
  secret: (count: number) => `masked-${count}`,
  /** A text of digits is replaced by as many digits. */
  text: (count: number, original: string) =>
    /\p{L}/u.test(original) || !/\d/.test(original) ? `masked-${count}` : writeCount(count, original, 10),
  number: (count: number, original: string) =>
    String(Number(writeCount(count, original, 10).replace(/^(-?)0(?=.)/, '$11')) || count),
  // The test network of RFC 2544; after its 131,072 addresses a private one.
  ipv4: (count: number) =>
    `${count < 2 ** 17 ? `198.${18 + (count >> 16)}` : `10.${(count >> 16) & 255}`}.${(count >> 8) & 255}.${count & 255}`,
  ipv6: (count: number, original: string) =>
    `${/^fe80/i.test(original) ? 'fe80:' : '2001:db8:'}:${count > 65_535 ? `${(count >> 16).toString(16)}:` : ''}${(count & 65_535).toString(16)}`,
  hex: (count: number, original: string) => writeCount(count, original, 16),
  host: (count: number, original: string) => `host${count}.example${original.split('.').length > 2 ? '.net' : ''}`,
  mail: (count: number) => `user${count}@example.net`,
  pem: (count: number) => `-----BEGIN MASKED-----\nmasked-${count}\n-----END MASKED-----`,
} as const;

/** Writes `count` into the digits of `original` from the right, padded with zeros; separators stay. Longer if it does not fit. */
function writeCount(count: number, original: string, radix: 10 | 16): string {
  const digit = radix === 10 ? /\d/g : /[\da-f]/gi;
  const room = original.match(digit)?.length ?? 0;
  const digits = count.toString(radix).padStart(room, '0');
  let at = digits.length - room;
  return digits.slice(0, at) + original.replaceAll(digit, () => digits[at++] ?? '');
}

/** Number of start positions tried in a run of hexadecimal digits and colons. */
const STARTS_MAX = 16;
const RUN_LENGTH_MAX = 256;

/** A word or a time may be joined to the address by a colon. */
function findIpv6(found: string): number | undefined {
  const starts = [...found.slice(0, RUN_LENGTH_MAX).matchAll(/(?<=^|:)/g)].slice(0, STARTS_MAX);
  const start = starts.find(({ index }) => isIPv6(found.slice(index)))?.index;
  return start === undefined || /^::1?$/.test(found.slice(start)) ? undefined : start;
}

/** Returns the sensitivity of a field's values by its name alone; `undefined` if the name is neutral. */
export function classifyName(name: string): Sensitivity | undefined {
  const words = splitWords(name);
  const joined = words.join('');
  return KEYS.find(([, known, parts]) => words.some((word) => known.has(word)) || parts.test(joined))?.[0];
}

/** A state is short and contains few numbers. */
const STATE_VALUE = /^(?=.{0,40}$)\D*(?:\d\D*){0,2}$/s;

/** Returns true if a text is sensitive. `key`: sensitivity of its field. A state of an identity is not: `pin_retries`. */
export function isSensitiveText(key: Sensitivity | undefined, name: string, text: string): key is Sensitivity {
  return key === 'secret' || (key === 'identity' && !isHarmless(name, text.trim()));
}

function isHarmless(name: string, text: string): boolean {
  if (EVERYDAY_WORD.test(text)) return true;
  const last = splitWords(name).at(-1) ?? '';
  return COUNT_WORDS.has(last) ? /^\d{1,13}$/.test(text) : STATE_WORDS.has(last) && STATE_VALUE.test(text);
}

/** Maximum nesting and number of values copied from a document. Real ones have 6 levels and some thousand values. */
const DEPTH_MAX = 32;
const VALUES_MAX = 100_000;
/** Real texts are below 100 characters. */
const TEXT_LENGTH_MAX = 8192;
const LEFT_OUT = '[left out]';

/** A name that firmware gives to a field. An account can be called `service`, and a field `service_state`. */
const PLAIN_FIELD = /^[a-z_]+$/;
/** Names of fields that describe the field next to them. */
export const NAMING_FIELD = /^(?:field|key|label|name|p|param|parameter|property|title)$/i;
const VALUE_FIELD = /^(?:content|data|text|v|val|value)$/i;
/** A key and its value inside a text: `password=…`, `"imei": "…"`. */
const KEY_VALUE = /([A-Za-z][\w.-]{0,63})["']? {0,4}[=:] {0,4}(?:(["'])([^"']*)|([^,;&\n\r]+))/dg;

/** Minimum length of texts and numbers that are searched for in other texts: shorter ones also occur as words and counts. */
const NAME_LENGTH_MIN = 4;
const NUMBER_LENGTH_MIN = 5;
/** Maximum number of names searched for in other texts: bounds the work for a router that sends many thousands. */
const NAMES_MAX = 1000;

/**
 * Masks sensitive data in the documents of one router: numbers of devices, cards and people, addresses, names, places and secrets. It
 * relies on field names and the form of texts, so a person has to check the result. Field names, numbers of digits and kinds of addresses
 * stay. A value has the same mask in all documents, also inside other texts. Pure: the same documents give the same masks.
 *
 * All sensitive texts are collected first. Then each gets a replacement: the same for the same text, a different one for a different
 * text, and never one of the sensitive texts.
 */
export class DocumentMasker {
  readonly #pieces = new Set<string>();
  readonly #names = new Set<string>();
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Matches values of sensitive fields wherever else they occur; `undefined` while texts are collected. */
  #namesPattern: RegExp | undefined;
  #values = 0;

  /** `known`: a document whose sensitive texts are searched for, however many the others have. */
  constructor(documents: Iterable<unknown>, known?: unknown) {
    this.mask(known);
    const own = this.#names.size;
    for (const document of documents) this.mask(document);
    const byLength = (names: readonly string[]) => names.toSorted((a, b) => b.length - a.length);
    const found = [...this.#names];
    const names = byLength([...found.slice(0, own), ...byLength(found.slice(own)).slice(0, NAMES_MAX)]);
    const words = names.map((name) => RegExp.escape(name)).join('|') || '(?!)';
    this.#namesPattern = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${words})(?![\p{L}\p{N}])`, 'giu');
  }

  /** Returns a copy without sensitive data. */
  mask(document: unknown): unknown {
    this.#values = 0;
    return this.#walk(document);
  }

  /** Returns true if any part of a text would be masked. */
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
      const maskedName = PLAIN_FIELD.test(name) ? name : this.#maskField(name);
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

  #maskNumber(value: number, name: string, sensitivity: Sensitivity | undefined): number {
    const text = String(value);
    const isNamed = isSensitiveText(sensitivity, name, text);
    const isFound = this.#maskText(text) !== text;
    return isNamed || isFound ? Number(this.#replace('number', text, isNamed)) : value;
  }

  /** For fields with a neutral name: masks parts that are sensitive by form, by a key before them, or already known. */
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

  /** For fields with a sensitive name: only the form is kept. */
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

  /** Keeps the surroundings of the value and the prefix length of an address. */
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
