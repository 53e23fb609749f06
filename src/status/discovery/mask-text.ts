import { isIPv6 } from 'node:net';
import type { KnownNames } from './known-names.ts';
import type { MaskBook, MaskKind } from './placeholders.ts';
import { classifyValue } from './sensitive-names.ts';

/** A form by which sensitive text shows itself, wherever it stands. */
interface Form {
  readonly pattern: RegExp;
  /** What stands in for what the pattern has found; `undefined` when it is no such thing after all. */
  readonly replace: (found: string, book: MaskBook) => string | undefined;
}

const as =
  (kind: MaskKind) =>
  (found: string, book: MaskBook): string =>
    book.replace(kind, found);

const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|[01]?\d?\d)`;
const HEX = '[0-9a-fA-F]';

/** Each form is looked for in what the ones before it have left. */
const FORMS: readonly Form[] = [
  { pattern: /-----BEGIN [^-]{1,64}-----.*?(?:-----END [^-]{1,64}-----|$)/gs, replace: as('pem') },
  { pattern: /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s/?#"'<>\\]+/gi, replace: replaceAuthority },
  { pattern: /\beyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*/g, replace: as('secret') },
  {
    pattern: /\b(?:bearer|basic|digest) +[\w+/=.~-]{12,}/gi,
    replace: (found, book) => found.replace(/\S+$/, (token) => book.replace('secret', token, true)),
  },
  { pattern: /[^\s@"'<>(),;:]{1,128}@[^\s@"'<>(),;]{1,255}/g, replace: as('mail') },
  { pattern: new RegExp(`(?<!${HEX})(?:${HEX}{2}[:-]){5,}${HEX}{2}(?!${HEX})`, 'g'), replace: replaceMac },
  { pattern: new RegExp(String.raw`(?<!${HEX})${HEX}{4}\.${HEX}{4}\.${HEX}{4}(?!${HEX})`, 'g'), replace: as('mac') },
  { pattern: new RegExp(`(?<![0-9a-fA-F:])${HEX}*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*`, 'g'), replace: replaceIpv6 },
  { pattern: new RegExp(String.raw`(?<!\d)(?:${OCTET}\.){3}${OCTET}(?!\d)`, 'g'), replace: replaceIpv4 },
  // Hashes, keys and UUIDs, then what is written to the base of 64.
  {
    pattern: new RegExp(`(?<![0-9a-zA-Z])${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}(?![0-9a-zA-Z])`, 'g'),
    replace: as('text'),
  },
  {
    pattern: new RegExp(`(?<![0-9a-zA-Z])(?:${HEX}{12}|${HEX}{32,})(?![0-9a-zA-Z])`, 'g'),
    replace: replaceHexadecimal,
  },
  { pattern: /(?<![\w+/])[\w+/-]{32,}={0,2}/g, replace: replaceBase64 },
  { pattern: /(?<!\d)(?<!\d\.)\d{14,}(?!\d)/g, replace: as('text') },
  { pattern: /(?<![\d.-])\d{1,8}(?:-\d{1,8}){2,5}(?!\d)/g, replace: replaceGroups },
  {
    pattern:
      /(?<![\p{L}\p{N}_-])(?:[\p{L}\p{N}_][\p{L}\p{N}_-]{0,62}\.){1,10}(?:\p{L}{2,63}|xn--[a-z0-9-]{2,59})\.?(?![\p{L}\p{N}_-])/gu,
    replace: as('host'),
  },
  { pattern: /\+\d[\d ()/.-]{6,20}\d/g, replace: as('text') },
  // 48.1372, 11.5755 and 48°8'14"N.
  { pattern: /(?<![\d.])[-+]?\d{1,3}\.\d{4,}[ °NSEW]{0,4}[,;/ ] *[-+]?\d{1,3}\.\d{4,}/g, replace: as('text') },
  { pattern: /\d{1,3} ?° ?\d{1,2}(?:[.,]\d+)? ?['′](?: ?[\d.,]+ ?(?:"|″|''))?/g, replace: as('text') },
];

/** A key and what separates it from its value, in the middle of a text: `password=…`, `"imei": "…"`. */
const KEY = /([A-Za-z][\w.-]{0,63})["']? {0,4}[=:] {0,4}/g;
const KEY_VALUE = /(?<quote>["'])(?<quoted>[^"']*)|(?<bare>[^,;&\n\r]+)/y;

/** A text, and whether it has been dealt with. */
interface Piece {
  readonly text: string;
  readonly isDone: boolean;
}

/** A text of a field whose name tells nothing: what in it is sensitive by its form or by a key before it is replaced. */
export function maskText(text: string, book: MaskBook, names: KnownNames | undefined): string {
  let pieces = maskKeyValues(text, book);
  for (const form of FORMS) pieces = applyForm(pieces, form, book);
  return pieces.map((piece) => (piece.isDone || !names ? piece.text : names.mask(piece.text, book))).join('');
}

/** A text that tells who or where, by the name of its field: nothing of it is left but its form. */
export function maskIdentity(text: string, book: MaskBook): string {
  let pieces: readonly Piece[] = [{ text, isDone: false }];
  for (const form of FORMS) pieces = applyForm(pieces, form, book);
  return pieces.map((piece) => (piece.isDone ? piece.text : maskWhole(piece.text, 'text', book))).join('');
}

/** A text that opens something: not even its form is left, but that a number is a number. */
export function maskSecret(text: string, book: MaskBook): string {
  return maskWhole(text, /^\s*\d+\s*$/.test(text) ? 'text' : 'secret', book);
}

/** The blanks around it stay, and so does the length of the prefix behind an address. */
function maskWhole(text: string, kind: MaskKind, book: MaskBook): string {
  const [, before = '', core = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
  if (!/[\p{L}\p{N}]/u.test(core) || /^\/\d{1,3}$/.test(core)) return text;
  return before + book.replace(kind, core, true) + after;
}

function applyForm(pieces: readonly Piece[], { pattern, replace }: Form, book: MaskBook): Piece[] {
  return pieces.flatMap((piece) => {
    if (piece.isDone) return [piece];
    const parts: Piece[] = [];
    let from = 0;
    for (const match of piece.text.matchAll(pattern)) {
      const masked = replace(match[0], book);
      if (masked === undefined) continue;
      parts.push({ text: piece.text.slice(from, match.index), isDone: false }, { text: masked, isDone: true });
      from = match.index + match[0].length;
    }
    return [...parts, { text: piece.text.slice(from), isDone: false }];
  });
}

function maskKeyValues(text: string, book: MaskBook): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  KEY.lastIndex = 0;
  for (let match = KEY.exec(text); match; match = KEY.exec(text)) {
    KEY_VALUE.lastIndex = KEY.lastIndex;
    const { quote = '', quoted, bare = '' } = KEY_VALUE.exec(text)?.groups ?? {};
    const value = quoted ?? bare;
    const sensitivity = classifyValue(match[1] ?? '', value);
    if (!sensitivity || value === '') continue;
    const start = KEY.lastIndex + quote.length;
    const mask = sensitivity === 'secret' ? maskSecret : maskIdentity;
    pieces.push({ text: text.slice(from, start), isDone: false }, { text: mask(value, book), isDone: true });
    from = start + value.length;
    KEY.lastIndex = from;
  }
  return [...pieces, { text: text.slice(from), isDone: false }];
}

/** User and password of a URL, and its host; the port stays. */
function replaceAuthority(found: string, book: MaskBook): string {
  const [, scheme = '', login, host = '', port = ''] = /^([^:]+:\/\/)(?:(.*)@)?(.*?)(:\d{1,5})?$/s.exec(found) ?? [];
  const parts = login?.split(':').map((part) => (part === '' ? '' : book.replace('secret', part, true)));
  return scheme + (parts ? `${parts.join(':')}@` : '') + maskIdentity(host, book) + port;
}

function replaceMac(found: string, book: MaskBook): string {
  return book.replace(found.length === 17 ? 'mac' : 'text', found);
}

/** Addresses that every device has, and masks of networks. */
function replaceIpv4(found: string, book: MaskBook): string | undefined {
  return /^(?:0|127|255)\./.test(found) ? undefined : book.replace('ipv4', found);
}

/** How much of a run of hexadecimal digits and colons is searched for the beginning of an address. */
const STARTS_MAX = 16;
const RUN_LENGTH_MAX = 256;

/** An address, perhaps with a word or a time before it that a colon has joined to it. */
function replaceIpv6(found: string, book: MaskBook): string | undefined {
  const run = [found, found.replace(/\..*$/s, '')].map((text) => text.replace(/\.+$|(?<!:):$/, ''));
  for (const text of new Set(run)) {
    for (const start of listStarts(text)) {
      const address = text.slice(start);
      if (!isIPv6(address)) continue;
      const isNobodys = address === '::' || address === '::1';
      return text.slice(0, start) + (isNobodys ? address : book.replace('ipv6', address)) + found.slice(text.length);
    }
  }
  return undefined;
}

/** The beginning and the places after colons. */
function listStarts(text: string): readonly number[] {
  const colons = [...text.slice(0, RUN_LENGTH_MAX).matchAll(/:/g)].map(({ index }) => index + 1);
  return [0, ...colons].slice(0, STARTS_MAX);
}

/** Twelve digits without a letter are a count. */
function replaceHexadecimal(found: string, book: MaskBook): string | undefined {
  return /[a-f]/i.test(found) && /\d/.test(found) ? book.replace('text', found) : undefined;
}

/** A long word of small and large letters and digits is no word. */
function replaceBase64(found: string, book: MaskBook): string | undefined {
  const isRandom = /[a-z]/.test(found) && /[A-Z]/.test(found) && /\d/.test(found);
  return isRandom ? book.replace('secret', found) : undefined;
}

/** The digits of a long number in groups; a date has fewer. */
function replaceGroups(found: string, book: MaskBook): string | undefined {
  const digits = found.replaceAll('-', '').length;
  return digits >= 14 && digits <= 20 ? book.replace('text', found) : undefined;
}
