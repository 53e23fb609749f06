import { z } from 'zod';
import { checked, secretOf, TEXT_CHARS_MAX, text, withContent, withSecrecy } from './values.ts';

/** Maximum number of headers: tokens, tenants, traces. */
const HEADERS_MAX = 32;
/** Half of what servers accept for all headers together. */
const HEADER_CHARS_MAX = 4096;

const HEADER_VALUE = `the value of a header: 1 to ${HEADER_CHARS_MAX} printable ASCII characters, without a blank at either end`;

/** True when a text can be the value of a header. */
function isHeaderValue(value: string): boolean {
  return value.length <= HEADER_CHARS_MAX && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
}

/** Headers of the connection or the body: another value would break the request. */
const HEADERS_RESERVED: ReadonlySet<string> = new Set(
  'connection content-encoding content-length content-type expect host keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);
const HEADER_NAME = 'the name of a header such as X-Api-Key';

/** Builds the schema of the name of a header that is none of `others`, in small letters, either. */
function headerName(others: readonly string[]) {
  return z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: HEADER_NAME })
    .refine((name) => !HEADERS_RESERVED.has(name.toLowerCase()) && !others.includes(name.toLowerCase()), {
      error: 'the name of a header that the agent does not set itself',
    });
}

/** Requirements on the value of a header. */
const HEADER_SECRET = { expected: HEADER_VALUE, isValid: isHeaderValue };

const headerValue = secretOf(
  'Value of the header.',
  HEADER_SECRET,
  z.string().refine(isHeaderValue).meta({ description: 'The value itself.' }),
);

const isFew = (map: object) => Object.keys(map).length <= HEADERS_MAX;
const HEADERS = `at most ${HEADERS_MAX} headers`;

/** Describes the keys `headers` and `header_files` of one kind of request. */
export interface HeaderKeys {
  /** Description of `headers`. */
  readonly description: string;
  /** Description of `header_files`. */
  readonly ofFiles: string;
  /** Names, in small letters, that the agent sets itself in these requests. Default: those that all requests have. */
  readonly reserved?: readonly string[];
}

/** Builds the keys `headers` and `header_files`: headers of requests, whose values are secrets. */
export function headersShape({ description, ofFiles, reserved = [] }: HeaderKeys) {
  const name = headerName(reserved);
  return {
    headers: z
      .record(name, headerValue, { error: 'a map of header names to values' })
      .refine(isFew, { error: HEADERS })
      .meta({ description, kind: 'map of headers to secrets', advanced: true })
      .optional(),
    header_files: z
      .record(name, withContent(HEADER_SECRET, withSecrecy('secret', text({ description: 'File with the value.' }))), {
        error: 'a map of header names to paths',
      })
      .refine(isFew, { error: HEADERS })
      .meta({ description: ofFiles, kind: 'map of headers to paths', advanced: true })
      .optional(),
  };
}

/** True when a text can be sent as a token in a header. */
export function isToken(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

const TOKEN = 'a token of printable ASCII characters without blanks';

/** A secret that is a token. */
export function token(description: string) {
  const literal = checked({ description: 'The token itself.' }, TOKEN, TEXT_CHARS_MAX, isToken);
  return secretOf(description, { expected: TOKEN, isValid: isToken }, literal);
}
