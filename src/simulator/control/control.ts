import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { renderErrorChain } from '../../base/index.ts';
import { isRecord } from '../rest/json.ts';
import { openHttpListener } from '../server/http-listener.ts';
import type { SimulatedRouter } from '../simulated-router.ts';
import { SimulatorError } from '../simulator-error.ts';
import { performControl } from './control-actions.ts';

/** The port through which other programs control the simulation. */
export interface Control {
  /** Scheme, host and port. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Opens the control port: `POST /control/<router>` with an action as JSON; `GET /control` lists the routers. Throws
 * {@link SimulatorError} `bad-option` for an address reachable from other machines, because there is no login.
 */
export async function openControl(
  address: { readonly host: string; readonly port: number },
  routers: readonly SimulatedRouter[],
): Promise<Control> {
  const { host, port } = address;
  if (!isLoopback(host)) {
    throw new SimulatorError('bad-option', `The control port may only listen on a loopback address, not on ${host}`);
  }
  const listener = await openHttpListener({
    host,
    port,
    certificate: undefined,
    handle: async (incoming, outgoing) => {
      const { status, value } = await answer(incoming, routers).catch((cause: unknown) =>
        refuse(500, renderErrorChain(cause)),
      );
      send(outgoing, status, value);
    },
  });
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`,
    close: () => listener.close(),
  };
}

interface ControlAnswer {
  readonly status: number;
  readonly value: object;
}

async function answer(incoming: IncomingMessage, routers: readonly SimulatedRouter[]): Promise<ControlAnswer> {
  const { method, url = '', headers } = incoming;
  // A web page in a browser can reach a loopback port too, but its requests carry an Origin header.
  if (headers.origin !== undefined) return refuse(403, 'Requests of web pages are not taken');
  if (method === 'GET' && (url === '/' || url === '/control'))
    return { status: 200, value: { routers: routers.map(describe) } };
  const name = /^\/control\/([^/?]+)$/.exec(url)?.[1];
  const router = routers.find((one) => one.name === name);
  if (!router) return refuse(404, 'There is no such router; GET /control lists them');
  if (method === 'GET') return { status: 200, value: { ...describe(router), counters: router.counters } };
  if (method !== 'POST') return refuse(405, 'An action is given with POST');
  const body = await readBody(incoming);
  if (body === undefined) return refuse(413, `The body must not be longer than ${BODY_BYTES_MAX} bytes`);
  const action = parseAction(body);
  if (!action) return refuse(400, 'The body must be a JSON object such as {"action": "restart"}');
  try {
    return { status: 200, value: { router: router.name, ...(await performControl(router, action)) } };
  } catch (cause) {
    if (cause instanceof SimulatorError) return refuse(400, renderErrorChain(cause));
    throw cause;
  }
}

function describe(router: SimulatedRouter): object {
  const { name, url, serial, deviceType, faults } = router;
  return { name, url, serial, device_type: deviceType, faults };
}

function refuse(status: number, error: string): ControlAnswer {
  return { status, value: { error } };
}

function parseAction(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(outgoing: ServerResponse, status: number, value: object): void {
  if (outgoing.destroyed) return;
  const body = `${JSON.stringify(value)}\n`;
  outgoing.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  outgoing.end(body);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
