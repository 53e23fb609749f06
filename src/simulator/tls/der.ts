/**
 * The DER encodings (ITU-T X.690) needed for a certificate. Each function returns one value with its tag and length.
 */

const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/** Returns a SEQUENCE of encoded values. */
export function derSequence(...parts: readonly Buffer[]): Buffer {
  return encode(TAGS.sequence, Buffer.concat(parts));
}

/** Returns a SET of encoded values. */
export function derSet(...parts: readonly Buffer[]): Buffer {
  return encode(TAGS.set, Buffer.concat(parts));
}

/** Returns a BOOLEAN. */
export function derBoolean(value: boolean): Buffer {
  return encode(TAGS.boolean, Buffer.of(value ? 0xff : 0));
}

/** A positive number of any size, highest byte first. */
export function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return encode(TAGS.integer, (shortest[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.of(0), shortest]) : shortest);
}

/** `unusedBits` at the end of the last byte do not count. */
export function derBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return encode(TAGS.bitString, Buffer.concat([Buffer.of(unusedBits), bytes]));
}

/** Returns an OCTET STRING. */
export function derOctetString(bytes: Uint8Array): Buffer {
  return encode(TAGS.octetString, bytes);
}

/** An object identifier in dotted form, as in `2.5.29.17`. */
export function derObjectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encode(TAGS.objectIdentifier, Buffer.from([first * 40 + second, ...rest].flatMap(toBase128)));
}

/** Returns a UTF8String. */
export function derUtf8String(text: string): Buffer {
  return encode(TAGS.utf8String, Buffer.from(text));
}

/** Years up to 2049 as UTCTime, later ones as GeneralizedTime, as RFC 5280 demands. */
export function derTime(date: Date): Buffer {
  const text = date.toISOString().replace(/\.\d+/u, '').replace(/[-:T]/gu, '');
  return date.getUTCFullYear() < 2050
    ? encode(TAGS.utcTime, Buffer.from(text.slice(2)))
    : encode(TAGS.generalizedTime, Buffer.from(text));
}

/** A context-specific value `[number]`, primitive or constructed. */
export function derContext(number: number, form: 'primitive' | 'constructed', bytes: Uint8Array): Buffer {
  return encode((form === 'constructed' ? 0xa0 : 0x80) | number, bytes);
}

function encode(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(tag), encodeLength(bytes.length), bytes]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function toBase128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}
