import { z } from 'zod';
import { parseByteSize, parseDuration, renderDuration, Secret } from '../base/index.ts';
import { DURATION_MS_MAX, DURATION_MS_MIN, NAME_CHARS_MAX, SPOOL_BYTES_LEAST, TEXT_CHARS_MAX } from './defaults.ts';
import { parseListenAddress } from './listen-address.ts';
import { parseRouterUrl } from './router-url.ts';
import { findNearestTimeZone, isTimeZone } from './time-zone.ts';

/**
 * The kinds of values. In all of them the message of an issue is a phrase that completes "Expected …": the reader of
 * issues adds what stands there instead. Descriptions and defaults sit on the inner schema, the one that JSON Schema shows.
 */

/** What a key is for, and its default as it would be written in the file. */
export type About = {
  readonly description: string;
  readonly default?: string | boolean | readonly string[];
};

/** A map of keys; any other key is refused. */
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
    .meta(about);
}

/** Text that becomes a {@link Secret} at once. */
export function secret(about: About) {
  return text(about).transform((value) => new Secret(value));
}

const NAME = `a name of letters, digits, ".", "_" and "-", at most ${NAME_CHARS_MAX} (a number needs quotes)`;

/** A name that is a label value and may become a part of a file name. */
export function name(about: About) {
  return z
    .string({ error: NAME })
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]+$/, { error: NAME })
    .max(NAME_CHARS_MAX, { error: NAME })
    .meta(about);
}

const FLAG = 'true or false';

/** A flag; as text too, because the environment holds nothing else. */
export function flag(about: About) {
  return z
    .union([z.boolean(), z.enum(['true', 'false'])], { error: FLAG })
    .meta(about)
    .transform((value) => value === true || value === 'true');
}

const DURATION = `a duration with its unit from ${renderDuration(DURATION_MS_MIN)} to ${renderDuration(DURATION_MS_MAX)}, such as 30s or 1h30m`;

/** A Prometheus duration, to milliseconds. */
export function duration(about: About) {
  return parsed(about, DURATION, (value) => {
    const durationMs = parseDuration(value);
    return durationMs !== undefined && durationMs >= DURATION_MS_MIN && durationMs <= DURATION_MS_MAX
      ? durationMs
      : undefined;
  });
}

const SIZE = `a size of at least ${SPOOL_BYTES_LEAST / 1024 ** 2}MiB, such as 512MiB or 1GiB`;

/** A size, to bytes; a plain number is bytes. */
export function byteSize(about: About) {
  return z
    .union([z.string(), z.int()], { error: SIZE })
    .meta(about)
    .transform((value, context) => {
      const bytes = parseByteSize(String(value));
      if (bytes !== undefined && bytes >= SPOOL_BYTES_LEAST) return bytes;
      context.issues.push({ code: 'custom', message: SIZE, input: value });
      return z.NEVER;
    });
}

/** Where a server listens. */
export function listenAddress(about: About) {
  return parsed(about, 'host:port, :port or [IPv6 address]:port with a port from 0 to 65535', parseListenAddress);
}

/** The address of a router, to its normal form. */
export function routerUrl(about: About) {
  const expected =
    'an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10';
  return parsed(about, expected, parseRouterUrl);
}

/** A SHA-256 fingerprint, to 64 small hexadecimal digits. */
export function fingerprint(about: About) {
  const expected = 'a SHA-256 fingerprint of 64 hexadecimal digits, with or without colons between each two';
  return parsed(about, expected, (value) => {
    const digits = value.replaceAll(':', '').toLowerCase();
    return /^[0-9a-f]{64}$/.test(digits) && /^(..:){31}..$|^.{64}$/.test(value) ? digits : undefined;
  });
}

/** An IANA time zone. */
export function timeZone(about: About) {
  const message = 'a time zone of the IANA list, such as Europe/Berlin or UTC';
  return z
    .string({ error: message })
    .meta(about)
    .superRefine((value, context) => {
      if (isTimeZone(value)) return;
      context.addIssue({ code: 'custom', message, params: { nearest: findNearestTimeZone(value) } });
    });
}

/** Text that `parse` turns into something else, or refuses with `undefined`. */
function parsed<T>(about: About, expected: string, parse: (value: string) => T | undefined) {
  return z
    .string({ error: expected })
    .meta(about)
    .transform((value, context): T => {
      const result = parse(value);
      if (result !== undefined) return result;
      context.issues.push({ code: 'custom', message: expected, input: value });
      return z.NEVER;
    });
}
