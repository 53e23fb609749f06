import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../../base/index.ts';
import { describeUrl, parsePlainUrl } from '../../settings/index.ts';
import { WebError } from '../errors.ts';
import type { FanOut } from '../fan-out.ts';

/** The URL and path of the server. */
export interface ServerPaths {
  /** URL from outside. */
  readonly externalUrl: URL | undefined;
  /** Path prefix of all routes: empty, or `/prefix` without a trailing slash. */
  readonly routePrefix: string;
}

/** The dependencies of request handlers. `Content`: what they show. */
export interface WebDependencies<Content> extends ServerPaths {
  readonly content: Content;
  /** The other processes of the fleet. */
  readonly fanOut: FanOut;
  readonly clock: Clock;
  /** True if `POST /-/reload`, `/-/quit`, `/-/poll` and `/-/maintenance` are allowed. */
  readonly isLifecycleEnabled: boolean;
}

/** The Hono environment. */
export interface WebEnv {
  /** The Node.js request and response; absent in tests without a socket. */
  readonly Bindings: Partial<HttpBindings>;
  readonly Variables: {
    /** Key of the client, if limits per client apply; `undefined` for loopback and trusted proxies. */
    readonly limitedClient: string | undefined;
  };
}

/** A request with its environment. */
export type WebContext = Context<WebEnv>;

/** Answers the requests of one route. */
export type Handler = (context: WebContext) => Response | Promise<Response>;

/** True if a request is about this process alone (`own=1`), as other processes of the fleet send it. */
export function isOwnAlone(context: WebContext): boolean {
  return context.req.query('own') === '1';
}

/** Returns the prefix of links: the path of the external URL, or `up`, which leads from a page to the root. */
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
  // Excludes everything that the router, or a client that normalises paths, could interpret.
  if (/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/.test(prefix)) return prefix;
  throw new WebError('settings', `${text} is not a valid route prefix`, {
    disposition: 'operator',
    hint: 'Write --web.route-prefix as in /router-exporter, with letters, digits, ".", "_", "~" and "-"',
  });
}
