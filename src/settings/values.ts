import { matchesGlob } from 'node:path';
import { z } from 'zod';
import { Secret } from '../base/index.ts';
import { parseListenAddress, renderListenAddress } from './listen-address.ts';
import { findNearest } from './nearest.ts';
import { withSecrecy } from './secrecy.ts';

/** Names become label values and file names, which end at 255 bytes. */
export const NAME_CHARS_MAX = 128;
/** Longest path that Linux takes; longer than any user name or host name. */
export const TEXT_CHARS_MAX = 4096;
/** Globs or paths in one list. */
export const FILE_PATTERNS_MAX = 100;

/**
 * Kinds of values; those with a number in them are in quantities.ts. In all of them the message of an issue is a phrase that completes "Expected …": the reader of
 * issues adds what stands there instead. Descriptions and defaults sit on the inner schema, the one that JSON Schema shows.
 */

/** Description of a key, and its default as written in the file. */
export type About = {
  readonly description: string;
  readonly default?: string | number | boolean | readonly string[];
  /** Name of the type in the reference. Default: that of the kind of value. */
  readonly kind?: string;
};

/** A map of keys. Unknown keys are rejected. */
export function section<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape, { error: 'a map of keys' }).meta({ description });
}

const TEXT = `text of 1 to ${TEXT_CHARS_MAX} characters (a number needs quotes)`;

/** Any text that is not empty. */
export function text(about: About) {
  return z
    .string({ error: TEXT })
    .min(1, { error: TEXT })
    .max(TEXT_CHARS_MAX, { error: TEXT })
    .refine((value) => !value.includes('\0'), { error: 'text without NUL characters' })
    .meta({ kind: 'text', ...about });
}

/** The path of a file with a secret, which a person may mistake for the secret itself. */
export function secretPath(description: string) {
  return withSecrecy('possible', text({ description, kind: 'path' }));
}

/** Text that is converted to a {@link Secret}. */
export function secret(about: About) {
  return asSecret(text({ kind: 'secret text', ...about }));
}

const NAME = `a name of letters, digits, ".", "_" and "-", at most ${NAME_CHARS_MAX} (a number needs quotes)`;

/** A name that is a label value and may become a part of a file name. */
export function name(about: About) {
  return z
    .string({ error: NAME })
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]+$/, { error: NAME })
    .max(NAME_CHARS_MAX, { error: NAME })
    .meta({ kind: 'name', ...about });
}

const FLAG = 'true or false';

/** A flag; as text too, because the environment holds nothing else. */
export function flag(about: About) {
  const written = z
    .union([z.boolean(), z.enum(['true', 'false'])], { error: FLAG })
    .meta({ kind: '`true` or `false`', ...about });
  return codec(
    written,
    FLAG,
    (value) => value === true || value === 'true',
    (value): boolean | 'true' | 'false' => value,
  );
}

/** One of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(about: About, words: Words) {
  const quoted = words.map((word) => `"${word}"`);
  const error = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ');
  return z.enum(words, { error }).meta(about);
}

const PATTERNS = `a list of at most ${FILE_PATTERNS_MAX} paths or globs`;
const PATTERN = `a path, or a glob such as "routers/*.yaml"`;

/** Files to read: paths, and globs of one folder level for each part. */
export function filePatterns(about: About) {
  const pattern = z
    .string({ error: PATTERN })
    .min(1, { error: PATTERN })
    .max(TEXT_CHARS_MAX, { error: PATTERN })
    .refine((value) => !value.includes('\0'), { error: PATTERN })
    // It would search whatever lies below, the whole disk at worst.
    .refine((value) => !value.includes('**'), {
      error: `a path or glob without "**"; write a "*" for each level of folders`,
    });
  return z
    .array(pattern, { error: PATTERNS })
    .max(FILE_PATTERNS_MAX, { error: PATTERNS })
    .meta({ kind: 'list of paths and globs', ...about });
}

/**
 * A list of globs; `*` by default. Messages show two examples of names. Where there are only some `words`, each glob must match
 * one of them.
 */
export function globs(
  description: string,
  { examples: [one, other] = ['network', 'kernel'], words }: GlobOptions = {},
) {
  const list = `a list of globs such as "*" and "!${other}", at least one of them without "!"`;
  const item = `a glob such as "${one}" or "!${other}"`;
  const noWord = `a glob that fits one of ${words?.join(', ')}`;
  const glob = z
    .string({ error: item })
    .regex(/^!?[^!\s]+$/, { error: item, abort: true })
    .superRefine((value, context) => {
      const plain = value.replace(/^!/, '');
      if (!words || words.some((word) => matchesGlob(word, plain))) return;
      context.addIssue({ code: 'custom', message: noWord, params: { nearest: findNearestWord(plain, words) } });
    });
  return z
    .array(glob, { error: list })
    .refine((items) => items.some((it) => !it.startsWith('!')), { error: list })
    .meta({ description, kind: 'list of globs' });
}

/** Examples and allowed words of a list of globs. */
export interface GlobOptions {
  /** Two example globs for messages. Default: those of component names. */
  readonly examples?: readonly [string, string];
  /** The words that globs are matched against, if they are a closed list. Default: any text. */
  readonly words?: readonly string[];
}

/** Others write the first letters of a word instead of the word, such as `warn` and `crit`. */
function findNearestWord(word: string, words: readonly string[]): string | undefined {
  const start = word.toLowerCase();
  const longer = start.length < 3 ? undefined : words.find((candidate) => candidate.startsWith(start));
  return longer ?? findNearest(word, words);
}

/** A key that other programs support and this one does not. It is rejected with a reason, a whole sentence. */
export function unsupported(reason: string) {
  return z
    .unknown()
    .meta({ description: `Not supported: ${reason}.`, kind: 'unsupported' })
    .superRefine((value, context) => {
      if (value === undefined) return;
      context.addIssue({
        code: 'custom',
        message: `This key is not supported: ${reason}`,
        params: { isSentence: true },
      });
    })
    .optional();
}

/** A listen address. */
export function listenAddress(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port, :port or [IPv6 address]:port with a port from 0 to 65535',
    parseListenAddress,
    renderListenAddress,
  );
}

/** The URL of a router, normalised. */
export function routerUrl(about: About) {
  const expected =
    'an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10';
  return withSecrecy('possible', parsed({ kind: 'URL', ...about }, expected, parseRouterUrl));
}

/** A SHA-256 fingerprint, to 64 small hexadecimal digits. */
export function fingerprint(about: About) {
  const expected = 'a SHA-256 fingerprint of 64 hexadecimal digits, with or without colons between each two';
  return parsed({ kind: 'text', ...about }, expected, (value) => {
    const digits = value.replaceAll(':', '').toLowerCase();
    return /^[0-9a-f]{64}$/.test(digits) && /^(..:){31}..$|^.{64}$/.test(value) ? digits : undefined;
  });
}

/** An IANA time zone. */
export function timeZone(about: About) {
  const message = 'a time zone of the IANA list, such as Europe/Berlin or UTC';
  return z
    .string({ error: message })
    .meta({ kind: 'name of a time zone', ...about })
    .superRefine((value, context) => {
      if (isTimeZone(value)) return;
      context.addIssue({ code: 'custom', message, params: { nearest: findNearestTimeZone(value) } });
    });
}

/** Text that `isValid` accepts. */
export function checked(about: About, expected: string, charsMax: number, isValid: (value: string) => boolean) {
  return z
    .string({ error: expected })
    .max(charsMax, { error: `${expected}, at most ${charsMax} characters` })
    .refine(isValid, { error: expected })
    .meta({ kind: 'text', ...about });
}

/** Text that `parse` converts to a value, or rejects with `undefined`; `render` is the inverse. */
export function parsed<Value>(
  about: About,
  expected: string,
  parse: (value: string) => Value | undefined,
  render: (value: Value) => string = String,
) {
  return codec(z.string({ error: expected }).meta(about), expected, parse, render);
}

/** Converts text of a schema to a {@link Secret}. The inverse renders `[secret]`. */
export function asSecret(written: z.ZodString) {
  return withSecrecy(
    'secret',
    z.codec(written, z.instanceof(Secret), { decode: (value) => new Secret(value), encode: String }),
  );
}

/** Converts what is written to a value and back: `parse` rejects it with `undefined`, `render` is the inverse. */
export function codec<Written extends z.ZodType, Value>(
  written: Written,
  expected: string,
  parse: (value: z.output<Written>) => Value | undefined,
  render: (value: Value) => z.output<Written>,
) {
  return z.codec(written, z.custom<Value>(), {
    decode(value, context) {
      const result = parse(value);
      if (result !== undefined) return result;
      context.issues.push({ code: 'custom', message: expected, input: value });
      return z.NEVER;
    },
    encode: render,
  });
}

/**
 * Parses an http or https URL of scheme, host, port and path alone to its normal form, as it would be asked for;
 * `undefined` when it is none.
 */
export function parsePlainUrl(address: string): string | undefined {
  // The WHATWG parser forgives what is more likely a mistake here: spaces, backslashes, missing slashes.
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(address)) return undefined;
  const url = URL.parse(address);
  if (!url || url.hostname === '') return undefined;
  return url.origin + url.pathname;
}

/** Parses the address of a router, or of anything else below which paths are asked for, without a slash at the end. */
export function parseRouterUrl(address: string): string | undefined {
  return parsePlainUrl(address)?.replace(/\/+$/, '');
}

/** Looking a zone up here is a thousand times faster than constructing it. Only aliases are missing. */
const CANONICAL_ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));

/** True for a time zone of the IANA list. An offset such as `+01:00` is not one. */
function isTimeZone(zone: string): boolean {
  if (CANONICAL_ZONES.has(zone)) return true;
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The time zone that `zone` is probably a misspelling of. */
function findNearestTimeZone(zone: string): string | undefined {
  return findNearest(zone, [...CANONICAL_ZONES]);
}
