import { z } from 'zod';
import type { Filled } from '../files/named-files.ts';
import { describeHost, fingerprint } from './addresses.ts';
import type { Settled, SoundOf } from './parts.ts';
import {
  certificates,
  checked,
  flag,
  secretOf,
  secretPath,
  section,
  TEXT_CHARS_MAX,
  text,
  withContent,
  withSecrecy,
} from './values.ts';

/** Verification of the peer of a TLS connection, and client certificate, with the content of files. */
export type TlsSettings = Settled<Filled<SoundOf<ReturnType<typeof tlsSection>>>>;

/** TLS settings as options of a connection. */
export interface ClientTls {
  /** Trusted authorities, as PEM, instead of those of the system and of Node.js. */
  readonly caPem?: string | undefined;
  /** Name that the certificate must carry, if it is not the host of the URL. */
  readonly serverName?: string | undefined;
  /** Client certificate, as PEM. */
  readonly certPem?: string | undefined;
  /** Private key of `certPem`, as PEM, in clear text. */
  readonly keyPem?: string | undefined;
  /** SHA-256 of the peer's certificate: 64 hexadecimal digits. Without `caPem`, no authority is required. */
  readonly fingerprintSha256?: string | undefined;
  /** True to accept any certificate. */
  readonly insecureSkipVerify?: boolean | undefined;
}

interface TlsDescriptions {
  readonly section: string;
  readonly caFile: string;
  readonly serverName: string;
  readonly certFile: string;
  readonly fingerprint: string;
  readonly insecure: string;
}

const NAME = 'the name or the IP address that stands in the certificate';

/** Returns the schema of a section `tls`. */
export function tlsSection(descriptions: TlsDescriptions) {
  return section(descriptions.section, {
    ca_file: certificates(descriptions.caFile).optional(),
    server_name: text({ description: descriptions.serverName })
      .superRefine((value, context) => {
        const found = describeHost(value);
        if (found !== undefined) context.addIssue({ code: 'custom', message: NAME, params: { found } });
      })
      .optional(),
    cert_file: certificates(descriptions.certFile).optional(),
    key_file: secretPath(
      'PEM file with the private key of `cert_file`, without a passphrase.',
      'private key',
    ).optional(),
    fingerprint_sha256: fingerprint({ description: descriptions.fingerprint }).optional(),
    insecure_skip_verify: flag({ description: descriptions.insecure }).prefault(false),
  });
}

/** Converts settings to the options of a connection. */
export function revealTls(tls: TlsSettings = {}): ClientTls {
  return {
    caPem: tls.ca_file,
    serverName: tls.server_name,
    certPem: tls.cert_file,
    keyPem: tls.key_file?.reveal(),
    fingerprintSha256: tls.fingerprint_sha256,
    insecureSkipVerify: tls.insecure_skip_verify ?? false,
  };
}

/** Returns true if every certificate is accepted. */
export function isUnverified({ insecure_skip_verify: isOpen, fingerprint_sha256: pin }: TlsSettings = {}): boolean {
  return isOpen === true && pin === undefined;
}

const HEADERS_MAX = 32;
/** Half of what servers accept for all headers together. */
const HEADER_CHARS_MAX = 4096;

const HEADER_VALUE = `the value of a header: 1 to ${HEADER_CHARS_MAX} printable ASCII characters, without a blank at either end`;

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

function headerName(others: readonly string[]) {
  return z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: HEADER_NAME })
    .refine((name) => !HEADERS_RESERVED.has(name.toLowerCase()) && !others.includes(name.toLowerCase()), {
      error: 'the name of a header that the agent does not set itself',
    });
}

const HEADER_SECRET = { expected: HEADER_VALUE, isValid: isHeaderValue };

const headerValue = secretOf(
  'Value of the header.',
  HEADER_SECRET,
  z.string().refine(isHeaderValue).meta({ description: 'The value itself.' }),
);

const isFew = (map: object) => Object.keys(map).length <= HEADERS_MAX;
const HEADERS = `at most ${HEADERS_MAX} headers`;

interface HeaderKeys {
  readonly description: string;
  readonly ofFiles: string;
  /** Lower-case names that the agent sets itself in these requests. Default: none besides those of every request. */
  readonly reserved?: readonly string[];
}

/** Returns the keys `headers` and `header_files`. The values of headers are secrets. */
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

/** Returns true if a text can be sent as a token in a header. */
export function isToken(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

const TOKEN = 'a token of printable ASCII characters without blanks';

/** Schema of a secret that is a token. */
export function token(description: string) {
  const literal = checked({ description: 'The token itself.' }, TOKEN, TEXT_CHARS_MAX, isToken);
  return secretOf(description, { expected: TOKEN, isValid: isToken }, literal);
}
