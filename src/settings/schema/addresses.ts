import { isIPv4, isIPv6 } from 'node:net';
import { type About, parsed, withSecrecy } from './values.ts';

/** Longer text is no scheme, and may be a secret. */
const SCHEME = /^([a-z]{1,12}):\/\//i;
/** The URL standard reads such a host as an IPv4 address. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i;
const IPV6 = /^\[?[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*(%)?/i;
const SECOND_SCHEME = /^[a-z]+:\/\/[a-z]+:\/\//i;

/**
 * Describes what is wrong with a text that is no http or https URL. Repeats only its scheme: credentials, path and
 * query may hold a secret.
 */
export function describeUrl(text: string): string {
  if (text === '') return 'empty text';
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme === undefined) return 'text that begins with neither "https://" nor "http://"';
  if (!/^https?$/i.test(scheme)) return `the scheme "${scheme}"`;
  if (/[\s\\]/.test(text)) return 'a blank or backslash';
  if (SECOND_SCHEME.test(text)) return 'two schemes; what stands for a host, as in a target, has none';
  const [, authority = ''] = /^[^:]*:\/\/([^/?#]*)/.exec(text) ?? [];
  if (authority.includes('@')) return 'credentials, which belong into keys such as "username" and "password"';
  if (text.includes('#')) return 'a fragment ("#")';
  const [, host = authority, port] = /^(.*?)(?::(\d*))?$/.exec(authority) ?? [];
  if (host === '') return 'no host';
  if (port !== undefined && Number(port) > PORT_MAX) return `a port above ${PORT_MAX}`;
  return describeHost(text) ?? (text.includes('?') ? 'a query ("?")' : 'text');
}

/**
 * Describes what is wrong with the host of a URL, of `host:port` or of a network; `undefined` if nothing is. The URL
 * standard and resolvers read a host that ends in a number as IPv4, also octal, hexadecimal and shortened; such an
 * address would not mean what it shows.
 */
export function describeHost(text: string): string | undefined {
  // A number alone is more likely a port.
  if (/^\d{1,5}$/.test(text)) return undefined;
  const rest = text.replace(/^[a-z][a-z0-9]*:\/\//i, '');
  const ipv6 = IPV6.exec(rest);
  if (ipv6?.[1] === '%') return 'an IPv6 address with a zone ("%"), which is not supported; write it without the zone';
  const [host = ''] = /^[^:/?#]*/.exec(rest) ?? [];
  // The text before an "@" may be a secret.
  if (ipv6 || rest.includes('@') || isIPv4(host)) return undefined;
  const meant = URL.parse(`http://${host}`)?.hostname ?? '';
  if (isIPv4(meant)) {
    const shown = host.split('.').map(Number).join('.');
    const advice =
      isIPv4(shown) && shown !== meant ? `write ${shown}` : 'write it as four decimals without leading zeros';
    return `a host in another form of an IPv4 address; ${advice}, for the URL standard reads it as ${meant}`;
  }
  return ENDS_IN_NUMBER.test(host) ? 'a host that ends in a number and is no IPv4 address of four decimals' : undefined;
}

/** Schema of a listen address. */
export function listenAddress(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port, :port or [IPv6 address]:port with a port from 0 to 65535',
    parseListenAddress,
    renderListenAddress,
    describeHost,
  );
}

/** Schema of the URL of a router, normalised. */
export function routerUrl(about: About) {
  const expected =
    'an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10';
  return webUrl(about, expected, parseRouterUrl);
}

/** Schema of an http or https URL that `parse` accepts. Messages never repeat the text. */
export function webUrl<Value>(
  about: About,
  expected: string,
  parse: (value: string) => Value | undefined,
  render: (value: Value) => string = String,
) {
  return withSecrecy('possible', parsed({ kind: 'URL', ...about }, expected, parse, render, describeUrl));
}

export function fingerprint(about: About) {
  const expected = 'a SHA-256 fingerprint of 64 hexadecimal digits, with or without colons between each two';
  return parsed({ kind: 'text', ...about }, expected, (value) => {
    const digits = value.replaceAll(':', '').toLowerCase();
    return /^[0-9a-f]{64}$/.test(digits) && /^(..:){31}..$|^.{64}$/.test(value) ? digits : undefined;
  });
}

/**
 * Parses and normalises an http or https URL of scheme, host, port and path; `undefined` for other text, and for an
 * address that normalising would change.
 */
export function parsePlainUrl(address: string): string | undefined {
  // The WHATWG parser accepts likely mistakes: spaces, backslashes, missing slashes.
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(address) || SECOND_SCHEME.test(address)) return undefined;
  const url = URL.parse(address);
  if (!url || url.hostname === '') return undefined;
  if (isIPv4(url.hostname) && describeHost(address) !== undefined) return undefined;
  return url.origin + url.pathname;
}

/** Parses a base URL and removes trailing slashes. */
export function parseRouterUrl(address: string): string | undefined {
  return parsePlainUrl(address)?.replace(/\/+$/, '');
}

/** Host and port to listen on. */
export interface ListenAddress {
  /** Without brackets; `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

const PORT_MAX = 65_535;
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Parses `host:port`, `:port` or `[::1]:port`; `undefined` for other text. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > PORT_MAX) return undefined;
  if (describeHost(text) !== undefined) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { host: undefined, port };
  return HOST_NAME.test(plain) ? { host: plain, port } : undefined;
}

/** Renders an address; one with colons gets brackets: `[::1]:port`. */
export function renderListenAddress({ host = '', port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
