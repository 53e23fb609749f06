import { setImmediate } from 'node:timers';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Recording } from '../bundle-file.ts';
import { readWebSettings, type WebSettings } from '../configuration/web-settings.ts';
import type { Device } from '../device/device.ts';
import type { Account, Group } from '../device/sessions.ts';
import { Rejection } from '../rejection.ts';
import type { RestFeatures } from '../simulator-options.ts';

/** The router that handles a request, and its connections to the outside. */
export interface RestBindings extends HttpBindings {
  readonly device: Device;
  readonly features: RestFeatures;
  readonly recording: Recording | undefined;
  /** Applies the ports. Resolves with a function that closes unneeded listeners; rejects without a change if a port is taken. */
  readonly applyWebSettings: (settings: WebSettings) => Promise<() => void>;
  /** Returns how many bytes of a body will be sent: all unless a fault truncates it. */
  readonly countDelivered: (bodyBytes: number) => number;
}

/** Variables in the context of handlers; `account` only after authentication, `date` only if a recording has it. */
export interface RestEnv {
  readonly Bindings: RestBindings;
  readonly Variables: { account: Account; neededGroup: Group; date?: string };
}

/** A request to a simulated router. */
export type RestContext = Context<RestEnv>;

/** Base path of the interface on every router, with its version. */
export const API_ROOT = '/api/v2_0';
/** Larger than any configuration of a router; a larger body is rejected with 413. */
export const REQUEST_BODY_BYTES_MAX = 1024 * 1024;

/** Reads the body of a request; empty if there is none. */
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

/** Answers with JSON. Every answer has a Content-Length, so that a client can detect a truncated body. */
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
  // The adapter would add a Content-Type to an empty array.
  return body.length > 0 ? context.body(new Uint8Array(body), status, stated) : context.body(null, status, stated);
}

/** Answers with a rejection. */
export function answerRejection(context: RestContext, fault: Rejection): Response {
  return answerJson(context, fault.status, fault.toBody());
}

/** Returns a query parameter; `undefined` if it is absent, a rejection if it is given twice. */
export function readQuery(context: RestContext, name: string): string | undefined | Rejection {
  const values = context.req.queries(name) ?? [];
  return values.length > 1 ? Rejection.of(400, name, 'is given more than once') : values[0];
}

/** Returns the part of the path after `/api/v2_0/<area>/`. */
export function readRestOfPath(context: RestContext, area: string): string {
  const { path } = context.req;
  return path.slice(path.indexOf(`/${area}/`) + area.length + 2);
}

/**
 * Activates a profile, by default the running one. Listeners that it enables are open before the answer is sent; those that it disables
 * close after it. If a port is not available, nothing changes.
 */
export async function activateProfile(context: RestContext, name: string | undefined): Promise<Rejection | undefined> {
  const { device, applyWebSettings, outgoing } = context.env;
  const configuration = device.profiles.read(name);
  if (configuration instanceof Rejection) return configuration;
  let closeFormer: () => void;
  try {
    closeFormer = await applyWebSettings(readWebSettings(configuration));
  } catch {
    return Rejection.of(500, 'profile', 'activation failed: a port of the web interface cannot be had');
  }
  device.profiles.activate(name);
  // The system takes the last bytes of the answer in the next iteration of the event loop.
  outgoing.once('close', () => setImmediate(closeFormer));
  return undefined;
}
