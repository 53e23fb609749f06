import { isIPv4 } from 'node:net';

/** Longer ones are no schemes that anybody means, and may be a secret. */
const SCHEME = /^([a-z]{1,12}):\/\//i;
const PORT_MAX = 65_535;

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
  const [, authority = ''] = /^[^:]*:\/\/([^/?#]*)/.exec(text) ?? [];
  if (authority.includes('@')) return 'credentials, which belong into keys such as "username" and "password"';
  if (text.includes('#')) return 'a fragment ("#")';
  const [, host = authority, port] = /^(.*?)(?::(\d*))?$/.exec(authority) ?? [];
  if (host === '') return 'no host';
  if (port !== undefined && Number(port) > PORT_MAX) return `a port above ${PORT_MAX}`;
  if (/^[\d.]+$/.test(host) && !isIPv4(host)) return 'a host of digits that is no IPv4 address';
  return text.includes('?') ? 'a query ("?")' : 'text';
}
