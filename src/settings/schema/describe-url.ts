import { isIPv4 } from 'node:net';

/** Longer ones are no schemes that anybody means, and may be a secret. */
const SCHEME = /^([a-z]{1,12}):\/\//i;
const PORT_MAX = 65_535;
/** The URL standard takes such a host for an IPv4 address. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i;
/** The beginning of an IPv6 address, in brackets or not, and of its zone. */
const IPV6 = /^\[?[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*(%)?/i;
/** As where `https://` is put before a URL in place of a host. */
export const SECOND_SCHEME = /^[a-z]+:\/\/[a-z]+:\/\//i;

/**
 * Describes what is wrong with a text that is no http or https URL. Of the text, only a scheme is repeated: credentials, path and
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
 * Describes what is wrong with the host of a URL, of `host:port` or of a network; `undefined` if nothing is. What ends in a number is an
 * IPv4 address in the URL standard and for resolvers of names, in old forms, too: octal with a leading zero, hexadecimal, of fewer
 * parts. Such an address would not mean what it shows.
 */
export function describeHost(text: string): string | undefined {
  // Alone it is more likely a port.
  if (/^\d{1,5}$/.test(text)) return undefined;
  const rest = text.replace(/^[a-z][a-z0-9]*:\/\//i, '');
  const ipv6 = IPV6.exec(rest);
  if (ipv6?.[1] === '%') return 'an IPv6 address with a zone ("%"), which is not supported; write it without the zone';
  const [host = ''] = /^[^:/?#]*/.exec(rest) ?? [];
  // What stands before an "@" may be a secret.
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
