import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../base/index.ts';
import type { WebContent } from './content.ts';
import type { FanOut } from './fan-out.ts';

/** The dependencies of the request handlers. */
export interface WebDependencies {
  /** The content to show. */
  readonly content: WebContent;
  /** The other processes of the fleet. */
  readonly fanOut: FanOut;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
  /** Path prefix of all routes: empty, or `/prefix` without a trailing slash. */
  readonly routePrefix: string;
  /** Configured URL under which the server is reachable from outside. */
  readonly externalUrl: URL | undefined;
  /** True when `POST /-/reload`, `/-/quit` and `/-/poll` are allowed. */
  readonly isLifecycleEnabled: boolean;
}

/** The Hono environment. */
export interface WebEnv {
  /** The Node.js request and response; absent in tests without a socket. */
  readonly Bindings: Partial<HttpBindings>;
  readonly Variables: {
    /** The client of the request, if it may take only a share of what all have; `undefined` for loopback and trusted proxies. */
    readonly sharer: string | undefined;
  };
}

/** One request with what the handlers may use. */
export type WebContext = Context<WebEnv>;

/** Answers the requests of one route. */
export type Handler = (context: WebContext) => Response | Promise<Response>;
