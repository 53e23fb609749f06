import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Account } from './accounts.ts';

/** What handlers find in their context: the Node.js request and, behind the login, who is asking. */
export interface RestEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: { account: Account };
}

/** Answers with JSON. Every answer states its length, so that a client can tell a cut body from a short one. */
export function answerJson(context: Context, status: ContentfulStatusCode, value: unknown): Response {
  const body = Buffer.from(JSON.stringify(value));
  return answerBytes(context, status, body, { 'Content-Type': 'application/json' });
}

/** Answers with bytes as they are. */
export function answerBytes(
  context: Context,
  status: ContentfulStatusCode,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Response {
  return context.body(new Uint8Array(body), status, { ...headers, 'Content-Length': String(body.length) });
}

/** Answers with the interface's error body: a list of objects of one key, which names a parameter or a topic. */
export function answerFault(context: Context, status: ContentfulStatusCode, key: string, text: string): Response {
  return answerJson(context, status, { error: [{ [key]: text }] });
}
