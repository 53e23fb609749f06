import { isIPv6 } from 'node:net';
import { splitWords } from './metric-names.ts';

/**
 * Sensitivity of a value by the name of its field. `secret`: it grants access. `identity`: it identifies a person,
 * device or place, or how to reach them.
 */
export type Sensitivity = 'secret' | 'identity';

/** Kind of a sensitive text; determines its replacement. */
export type MaskKind = keyof typeof STAND_INS;

const toSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/));

/** Words in field names, and parts that are unambiguous even where no separator marks the start of a word. */
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

/**
 * A pattern of sensitive text, and a function that returns where the sensitive part starts in the match, or `undefined`
 * if there is none. Default 0.
 */
type Form = readonly [kind: MaskKind, pattern: RegExp, find?: (found: string) => number | undefined];

function hasAll(...parts: RegExp[]) {
  return (found: string) => (parts.every((part) => part.test(found)) ? 0 : undefined);
}
const isHex = hasAll(/[a-f]/i, /\d/);

/** Each pattern is applied to what the previous ones have left. */
export const FORMS: readonly Form[] = [
  ['pem', /-----BEGIN [^-]{1,64}-----.*?(?:-----END [^-]{1,64}-----|$)/gs],
  // The credentials in a URL, and a host without a dot.
  ['secret', all`${SCHEME}[^\s/?#"'<>\\]+(?=@)`],
  ['secret', all`${SCHEME}[^\s/?#"'<>\\@:.[\]]+(?=[:/?#\s"'<>\\]|$)`],
  ['secret', /\beyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*/g],
  ['secret', /(?<=\b(?:bearer|basic|digest) {1,8})[\w+/=.~-]{12,}/gi],
  ['mail', /[^\s@"'<>(),;:]{1,128}@[^\s@"'<>(),;]{1,255}/g],
  ['mac', all`(?<!${HEX})(?:(?:${HEX}{2}[:-]){5,}${HEX}{2}|${HEX}{4}\.${HEX}{4}\.${HEX}{4})(?!${HEX})`],
  ['ipv6', all`(?<![0-9a-fA-F:])${HEX}*:[0-9a-fA-F:]*:[0-9a-fA-F:]*`, findIpv6],
  // Every device has the other addresses, and netmasks.
  ['ipv4', all`(?<!\d)(?!(?:0|127|255)\.)(?:${OCTET}\.){3}${OCTET}(?!\d)`],
  // UUIDs, hashes and keys, then base64. Twelve digits without a letter are a count.
  ['text', all`(?<![0-9a-zA-Z])(?:${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}|${HEX}{32,})${ALONE}`, isHex],
  ['mac', all`(?<![0-9a-zA-Z])${HEX}{12}${ALONE}`, isHex],
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
export const STAND_INS = {
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
  mac: (count: number, original: string) => writeCount(count, original, 16),
  host: (count: number, original: string) => `host${count}.example${original.split('.').length > 2 ? '.net' : ''}`,
  mail: (count: number) => `user${count}@example.net`,
  pem: (count: number) => `-----BEGIN MASKED-----\nmasked-${count}\n-----END MASKED-----`,
} as const;

/**
 * Writes `count` into the digits of `original` from the right, padded with zeros; separators stay. Longer if it does
 * not fit.
 */
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

/** Finds an address, possibly after a word or a time joined to it by a colon. */
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

/**
 * Returns true if a text is sensitive, by the sensitivity of its field (`key`). A harmless text of a field that identifies
 * something is not: `pin_retries`.
 */
export function isSensitiveText(key: Sensitivity | undefined, name: string, text: string): key is Sensitivity {
  return key === 'secret' || (key === 'identity' && !isHarmless(name, text.trim()));
}

function isHarmless(name: string, text: string): boolean {
  if (EVERYDAY_WORD.test(text)) return true;
  const last = splitWords(name).at(-1) ?? '';
  return COUNT_WORDS.has(last) ? /^\d{1,13}$/.test(text) : STATE_WORDS.has(last) && STATE_VALUE.test(text);
}
