import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { WebSettings } from '../configuration/web-settings.ts';
import type { Device } from '../device/device.ts';
import type { Account, Group } from '../sessions/accounts.ts';
import type { RestFeatures } from '../simulator-options.ts';
import { Rejection } from './rejection.ts';

/** The router that handles a request, and its connections to the outside. */
export interface RestBindings extends HttpBindings {
  readonly device: Device;
  readonly features: RestFeatures;
  /**
   * Applies the ports in `settings`. Resolves with a function that closes the listeners no longer needed; rejects if a
   * port is not available, and nothing has changed then.
   */
  readonly applyWebSettings: (settings: WebSettings) => Promise<() => void>;
  /** Returns how many bytes of a body will be sent: all of them unless a fault truncates it. */
  readonly countDelivered: (bodyBytes: number) => number;
}

/** Variables in the context of handlers; `account` only behind the login. */
export interface RestEnv {
  readonly Bindings: RestBindings;
  readonly Variables: { account: Account; neededGroup: Group };
}

/** One request to a simulated router. */
export type RestContext = Context<RestEnv>;

/** Larger than any configuration a router takes; a larger body is refused with 413. */
export const REQUEST_BODY_BYTES_MAX = 1024 * 1024;

/** The body of a request as text; empty when there is none. */
export async function readBody(context: RestContext): Promise<string | Rejection> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of context.req.raw.body ?? []) {
    length += chunk.length;
    if (length > REQUEST_BODY_BYTES_MAX) return Rejection.of(413, 'content', 'too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Answers with JSON. Every answer states its length, so that a client can tell a truncated body from a short one. */
export function answerJson(context: RestContext, status: ContentfulStatusCode, value: unknown): Response {
  const body = Buffer.from(JSON.stringify(value));
  return answerBytes(context, status, body, { 'Content-Type': 'application/json' });
}

/** Answers with bytes. */
export function answerBytes(
  context: RestContext,
  status: ContentfulStatusCode,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Response {
  const stated = { ...headers, 'Content-Length': String(body.length) };
  // An empty array is a body to the adapter, which would give it a type that it does not have.
  return body.length > 0 ? context.body(new Uint8Array(body), status, stated) : context.body(null, status, stated);
}

/** Answers with a rejection. */
export function answerRejection(context: RestContext, fault: Rejection): Response {
  return answerJson(context, fault.status, fault.toBody());
}

/**
 * Returns a query parameter; `undefined` if it is absent, a rejection if it is given twice, because one would be
 * ignored.
 */
export function readQuery(context: RestContext, name: string): string | undefined | Rejection {
  const values = context.req.queries(name) ?? [];
  return values.length > 1 ? Rejection.of(400, name, 'is given more than once') : values[0];
}

/** Returns the part of the path after `/api/v2_0/<area>/`. */
export function readRestOfPath(context: RestContext, area: string): string {
  const { path } = context.req;
  return path.slice(path.indexOf(`/${area}/`) + area.length + 2);
}
