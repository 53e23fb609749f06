import { WebError } from './errors.ts';

/** Parses the URL under which the server is reachable from outside. Throws {@link WebError} `settings`. */
export function parseExternalUrl(text: string): URL {
  const url = URL.parse(text);
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '') return url;
  throw new WebError('settings', 'The external URL of the web server is not an http or https URL of a path', {
    disposition: 'operator',
    hint: 'Write --web.external-url as in https://monitoring.example.com/router-exporter',
  });
}

/** Parses and normalises the path prefix of all routes. Throws {@link WebError} `settings`. */
export function parseRoutePrefix(text: string): string {
  const prefix = `/${text}`.replaceAll(/\/+/g, '/').replace(/\/$/, '');
  // Excludes everything that the request router, or a client that normalises paths, could interpret.
  if (/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/.test(prefix)) return prefix;
  throw new WebError('settings', `${text} is not a valid route prefix`, {
    disposition: 'operator',
    hint: 'Write --web.route-prefix as in /router-exporter, with letters, digits, ".", "_", "~" and "-"',
  });
}
