import { describeUrl, parsePlainUrl } from '../settings/index.ts';
import { WebError } from './errors.ts';

/** Where clients find the server. */
export interface ServerPaths {
  /** URL under which the server is reachable from outside. */
  readonly externalUrl: URL | undefined;
  /** Normalised path prefix of all routes. */
  readonly routePrefix: string;
}

/** Returns what links begin with: the path of the external URL; without one, `up`, which leads from a page to the root. */
export function toBase({ externalUrl }: Pick<ServerPaths, 'externalUrl'>, up: string): string {
  return externalUrl?.pathname.replace(/\/?$/, '/') ?? up;
}

/** Parses the URL and the path prefix, by default the path of the URL. Throws {@link WebError} `settings`. */
export function parseServerPaths(flags: {
  readonly externalUrl?: string | undefined;
  readonly routePrefix?: string | undefined;
}): ServerPaths {
  const externalUrl = flags.externalUrl === undefined ? undefined : parseExternalUrl(flags.externalUrl);
  return { externalUrl, routePrefix: parseRoutePrefix(flags.routePrefix ?? externalUrl?.pathname ?? '') };
}

function parseExternalUrl(text: string): URL {
  const url = parsePlainUrl(text);
  if (url !== undefined) return new URL(url);
  const what = 'The external URL of the web server is not an http or https URL of a path';
  throw new WebError('settings', `${what}: it is ${describeUrl(text)}`, {
    disposition: 'operator',
    hint: 'Write --web.external-url as in https://monitoring.example.com/router-exporter',
  });
}

function parseRoutePrefix(text: string): string {
  const prefix = `/${text}`.replaceAll(/\/+/g, '/').replace(/\/$/, '');
  // Excludes everything that the request router, or a client that normalises paths, could interpret.
  if (/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/.test(prefix)) return prefix;
  throw new WebError('settings', `${text} is not a valid route prefix`, {
    disposition: 'operator',
    hint: 'Write --web.route-prefix as in /router-exporter, with letters, digits, ".", "_", "~" and "-"',
  });
}
