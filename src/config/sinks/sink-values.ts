import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { Secret } from '../../base/index.ts';
import {
  type About,
  checked,
  parsed,
  parseListenAddress,
  parsePlainUrl,
  parseRouterUrl,
  TEXT_CHARS_MAX,
  text,
} from '../../settings/index.ts';
import {
  ELASTICSEARCH_INDEX_BYTES_MAX,
  LOKI_TENANT_CHARS_MAX,
  NATS_PORT_DEFAULT,
  NATS_SERVERS_MAX,
  NATS_STREAM_CHARS_MAX,
  NATS_SUBJECT_CHARS_MAX,
  SINK_HEADER_CHARS_MAX,
  SINK_HEADERS_MAX,
  SYSLOG_APP_NAME_CHARS_MAX,
} from '../defaults.ts';

const URL_EXPECTED =
  'an http or https URL of scheme, host, port and path alone, without credentials, query and fragment, such as';

/** An address below which paths are asked for, without a slash at the end. */
export function baseUrl(about: About, example: string) {
  return parsed({ kind: 'URL', ...about }, `${URL_EXPECTED} ${example}`, parseRouterUrl);
}

/** An address that is asked for as it is, with its query. */
export function queryUrl(about: About, example: string) {
  const expected = 'an http or https URL of scheme, host, port, path and query alone, without credentials and fragment';
  return parsed({ kind: 'URL', ...about }, `${expected}, such as ${example}`, parseQueryUrl);
}

/** An address and its query, in which there may be secrets. */
export interface QueryUrl {
  /** Without the query. */
  readonly url: string;
  /** Pieces of the query, percent-encoded and without the question mark, to be joined as they are. */
  readonly query: readonly (string | Secret)[];
}

/** Every value of the query is a secret, but for those of keys that begin with `_`; so is a part without a key. */
function parseQueryUrl(value: string): QueryUrl | undefined {
  const [address = '', ...rest] = value.split('?');
  const url = parsePlainUrl(address);
  // The WHATWG parser forgives these as well: it would drop them, or end the query there.
  if (url === undefined || /[\s\\#]/.test(value)) return undefined;
  const query = new URL(`${url}?${rest.join('?')}`).search.slice(1);
  const pieces = query.split('&').flatMap((part, index) => {
    const [, key = '', held = ''] = /^([^=]*=)?(.*)$/s.exec(part) ?? [];
    const separator = index === 0 ? '' : '&';
    const isShown = held === '' || part.startsWith('_');
    return isShown ? [`${separator}${part}`] : [`${separator}${key}`, new Secret(held)];
  });
  return { url, query: pieces.filter((piece) => piece !== '') };
}

/** What is sent as a token in a header. */
export function isToken(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

export const TOKEN = 'a token of printable characters of ASCII without blanks';

/** A token that becomes a {@link Secret} at once. */
export function token(about: About) {
  return checked({ kind: 'secret text', ...about }, TOKEN, TEXT_CHARS_MAX, isToken).transform((it) => new Secret(it));
}

export const HEADER_VALUE = `the value of a header: 1 to ${SINK_HEADER_CHARS_MAX} printable characters of ASCII, no blank at either end`;

/** Whether a text can be the value of a header. */
export function isHeaderValue(value: string): boolean {
  return value.length <= SINK_HEADER_CHARS_MAX && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
}

/** Belong to the connection or to the body, so that another value would break the request. */
const HEADERS_RESERVED: ReadonlySet<string> = new Set(
  'connection content-encoding content-length content-type expect host keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);
const HEADER_NAME = 'the name of a header such as X-Api-Key';

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: HEADER_NAME })
  .refine((name) => !HEADERS_RESERVED.has(name.toLowerCase()), {
    error: 'the name of a header that the agent does not set itself',
  });

const HEADERS = `at most ${SINK_HEADERS_MAX} headers`;

/** Headers by name; their values are secrets. */
export function headers(description: string) {
  const value = z
    .string({ error: HEADER_VALUE })
    .refine(isHeaderValue, { error: HEADER_VALUE })
    .transform((it) => new Secret(it));
  return z
    .record(headerName, value, { error: 'a map of names and values of headers' })
    .refine((map) => Object.keys(map).length <= SINK_HEADERS_MAX, { error: HEADERS })
    .meta({ description, kind: 'map of headers to secret texts' });
}

/** Files with values of headers, by name. */
export function headerFiles(description: string) {
  return z
    .record(headerName, text({ description: 'File with the value.' }), { error: 'a map of names of headers and paths' })
    .refine((map) => Object.keys(map).length <= SINK_HEADERS_MAX, { error: HEADERS })
    .meta({ description, kind: 'map of headers to paths' });
}

/** Where a service is reached. */
export interface HostAndPort {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

function parseHostAndPort(value: string): HostAndPort | undefined {
  const { host, port } = parseListenAddress(value) ?? {};
  return host !== undefined && port !== undefined && port > 0 ? { host, port } : undefined;
}

export function hostAndPort(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port or [IPv6 address]:port with a port from 1 to 65535',
    parseHostAndPort,
  );
}

/** Normalises an address of NATS to `nats://host:port` or `tls://host:port`. */
function parseNatsServer(value: string): string | undefined {
  const [, scheme = 'nats', rest = ''] = /^(?:(nats|tls):\/\/)?(.*?)\/?$/s.exec(value) ?? [];
  const hasPort = /^(\[[^\]]*\]|[^:]*):\d+$/.test(rest);
  const parts = parseHostAndPort(hasPort ? rest : `${rest}:${NATS_PORT_DEFAULT}`);
  if (!parts) return undefined;
  return `${scheme}://${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${parts.port}`;
}

const SERVERS = `a list of 1 to ${NATS_SERVERS_MAX} servers`;
const SERVER = 'a server such as nats.example.net:4222 or tls://nats.example.net, without credentials';

export function natsServers(description: string) {
  return z
    .array(parsed({ description: 'Address of a server.' }, SERVER, parseNatsServer), { error: SERVERS })
    .min(1, { error: SERVERS })
    .max(NATS_SERVERS_MAX, { error: SERVERS })
    .meta({ description, kind: 'list of addresses' });
}

export function natsSubject(about: About) {
  return checked(
    { kind: 'subject', ...about },
    'the first part of a subject: letters, digits, "_" and "-", with dots between',
    NATS_SUBJECT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value),
  );
}

export function natsStream(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of a stream: no blanks, dots, slashes, "*" and ">"',
    NATS_STREAM_CHARS_MAX,
    (value) => /^[^\s\p{Cc}.*>/\\]+$/u.test(value),
  );
}

/** A tenant of Loki (docs: "multi-tenancy", characters of tenant IDs). */
export function lokiTenant(about: About) {
  return checked(
    { kind: 'name', ...about },
    `the name of a tenant: letters, digits and "!-_.*'()"`,
    LOKI_TENANT_CHARS_MAX,
    (value) => /^(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+$/.test(value),
  );
}

/** Name of an index by the rules of Elasticsearch (REST API, "create index"). */
export function elasticsearchIndex(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of a data stream, an index or an alias: no capitals, blanks and any of \\ / * ? " < > | , # :, and none of - _ + first',
    ELASTICSEARCH_INDEX_BYTES_MAX,
    (value) =>
      /^(?![-_+]|\.{1,2}$)[^\s\p{Cc}\p{Lu}\\/*?"<>|,#:]+$/u.test(value) &&
      Buffer.byteLength(value) <= ELASTICSEARCH_INDEX_BYTES_MAX,
  );
}

export function elasticsearchPipeline(about: About) {
  return checked(
    { kind: 'name', ...about },
    'the name of an ingest pipeline, without blanks, commas, "*" and slashes',
    ELASTICSEARCH_INDEX_BYTES_MAX,
    (value) => /^[^\s\p{Cc},*/\\]+$/u.test(value),
  );
}

/** `APP-NAME` of RFC 5424. */
export function syslogAppName(about: About) {
  return checked(
    { kind: 'name', ...about },
    'a name of printable characters of ASCII without blanks',
    SYSLOG_APP_NAME_CHARS_MAX,
    isToken,
  );
}
