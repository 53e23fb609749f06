/**
 * Parses an http or https URL of scheme, host, port and path alone to its normal form, as it would be asked for;
 * `undefined` when it is none.
 */
export function parsePlainUrl(text: string): string | undefined {
  // The WHATWG parser forgives what is more likely a mistake here: spaces, backslashes, missing slashes.
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(text)) return undefined;
  const url = URL.parse(text);
  if (!url || url.hostname === '') return undefined;
  return url.origin + url.pathname;
}

/** Parses the address of a router, or of anything else below which paths are asked for, without a slash at the end. */
export function parseRouterUrl(text: string): string | undefined {
  return parsePlainUrl(text)?.replace(/\/+$/, '');
}
