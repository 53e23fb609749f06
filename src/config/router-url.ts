/** Parses the address of a router to its normal form without a slash at the end; `undefined` when it is none. */
export function parseRouterUrl(text: string): string | undefined {
  // The WHATWG parser forgives what is more likely a mistake here: spaces, backslashes, missing slashes.
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(text)) return undefined;
  const url = URL.parse(text);
  if (!url || url.hostname === '') return undefined;
  return url.origin + url.pathname.replace(/\/+$/, '');
}
