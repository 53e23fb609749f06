import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Clock } from '../base/index.ts';
import type { WebContent } from './content.ts';

/** What requests are answered from. */
export interface Served {
  readonly content: WebContent;
  readonly clock: Clock;
  /** The path below which everything is served: empty, or `/prefix` without a slash at the end. */
  readonly routePrefix: string;
  /** How the server is reached from outside, where somebody said so. */
  readonly externalUrl: URL | undefined;
  readonly isLifecycleEnabled: boolean;
}

/** What Node knows of a request; nothing where a test asks without a socket. */
export interface WebEnv {
  readonly Bindings: Partial<HttpBindings>;
}

export type WebContext = Context<WebEnv>;

export type Handler = (context: WebContext) => Response | Promise<Response>;
