import { WebError } from './errors.ts';

/** Parses the address under which the server is reached from outside. Throws {@link WebError} `settings`. */
export function parseExternalUrl(text: string): URL {
  const url = URL.parse(text);
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '') return url;
  throw new WebError('settings', 'The external URL of the web server is no http or https address of a path', {
    disposition: 'operator',
    hint: 'Write --web.external-url as in https://monitoring.example.com/router-exporter',
  });
}

/** Parses the path below which everything is served to its normal form. Throws {@link WebError} `settings`. */
export function parseRoutePrefix(text: string): string {
  const prefix = `/${text}`.replaceAll(/\/+/g, '/').replace(/\/$/, '');
  // Nothing that the router of requests, or a client that makes paths shorter, could take for something else.
  if (/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/.test(prefix)) return prefix;
  throw new WebError('settings', `${text} cannot be the path below which the web server serves`, {
    disposition: 'operator',
    hint: 'Write --web.route-prefix as in /router-exporter, with letters, digits, ".", "_", "~" and "-"',
  });
}
