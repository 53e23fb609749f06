import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { renderErrorChain } from '../base/index.ts';
import { FAULT_NAMES, type FaultOptions, isFaultName } from './faults/router-faults.ts';
import type { StatusOverride } from './life/life-context.ts';
import type { LogSeverity } from './log-files/writer.ts';
import { isRecord } from './rejection.ts';
import { openHttpListener } from './server.ts';
import type { SimulatedRouter } from './simulated-router.ts';
import { SimulatorError } from './simulator-error.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Perform = (router: SimulatedRouter, parameters: Parameters) => object | undefined | Promise<object | undefined>;

interface Action {
  readonly parameters: readonly string[];
  readonly perform: Perform;
}

const SEVERITIES = ['EMERG', 'ALERT', 'CRIT', 'ERR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG'];
/** Lines appended by one request. */
const COUNT_MAX = 100_000;
/** Ten years. */
const ADVANCE_MS_MAX = 10 * 366 * 86_400_000;

const actions: Readonly<Record<string, Action>> = {
  append_log: {
    parameters: ['component', 'message', 'tag', 'severity', 'count'],
    perform(router, given) {
      const [component, message] = [readText(given, 'component'), readText(given, 'message')];
      const tag = given['tag'] === undefined ? component : readText(given, 'tag');
      const severity = given['severity'] === undefined ? undefined : readText(given, 'severity');
      if (severity !== undefined && !SEVERITIES.includes(severity))
        refuse('severity', `one of ${SEVERITIES.join(', ')}`);
      const count = readWhole(given, 'count', 1, COUNT_MAX) ?? 1;
      for (let done = 0; done < count; done++) router.appendLog(component, message, tag, severity as LogSeverity);
      return { lines: count };
    },
  },
  rotate: {
    parameters: ['component', 'message', 'tag'],
    perform(router, given) {
      const component = readText(given, 'component');
      const message = given['message'] === undefined ? undefined : readText(given, 'message');
      router.rotate(component, message, given['tag'] === undefined ? component : readText(given, 'tag'));
      return undefined;
    },
  },
  expire: {
    parameters: [],
    perform(router) {
      router.expireTokens();
      return undefined;
    },
  },
  restart: {
    parameters: [],
    perform(router) {
      router.restart();
      return undefined;
    },
  },
  factory_reset: {
    parameters: [],
    async perform(router) {
      await router.factoryReset();
      return { url: router.url };
    },
  },
  set_status: {
    parameters: ['resource', 'unique', 'list', 'remove', 'body', 'absent', 'reset'],
    perform(router, given) {
      const resource = readText(given, 'resource');
      router.setStatus(resource, given['reset'] === true ? undefined : readOverride(given));
      return { resource };
    },
  },
  fault: {
    parameters: ['name', 'path', 'times', 'delay_ms', 'retry_after', 'retry_after_date', 'bytes', 'bytes_per_second'],
    async perform(router, given) {
      await router.fault(readFaultName(given), readFaultOptions(given));
      return { faults: router.faults };
    },
  },
  clear_fault: {
    parameters: ['name'],
    async perform(router, given) {
      await router.clearFault(given['name'] === undefined ? undefined : readFaultName(given));
      return { faults: router.faults };
    },
  },
  advance_clock: {
    parameters: ['ms', 'wall_only'],
    async perform(router, given) {
      const wallOnly = given['wall_only'] === true;
      const ms = readWhole(given, 'ms', wallOnly ? -ADVANCE_MS_MAX : 0, ADVANCE_MS_MAX);
      if (ms === undefined) return refuse('ms', 'given; only with "wall_only": true it may be negative');
      if (wallOnly) router.jumpClock(ms);
      else await router.advanceClock(ms);
      return { ms };
    },
  },
};

/** Names of the actions of the control port. */
export const controlActionNames: readonly string[] = Object.keys(actions);

/** Performs `{"action": …}`. Throws {@link SimulatorError} `bad-option` for an invalid request. */
async function performControl(router: SimulatedRouter, request: Parameters): Promise<object> {
  const { action: name, ...given } = request;
  const action = typeof name === 'string' && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) return refuse('action', `one of ${controlActionNames.join(', ')}`);
  const unknown = Object.keys(given).find((key) => !action.parameters.includes(key));
  if (unknown !== undefined)
    return refuse(unknown, `left out: ${String(name)} takes ${action.parameters.join(', ') || 'nothing'}`);
  return { action: name, ...(await action.perform(router, given)) };
}

function readOverride(given: Parameters): StatusOverride {
  const { unique, list, remove, body, absent } = given;
  if (absent !== undefined && typeof absent !== 'boolean') refuse('absent', 'true or false');
  if (unique !== undefined && !isValues(unique)) refuse('unique', 'an object of strings');
  if (list !== undefined && !(Array.isArray(list) && list.every(isValues)))
    refuse('list', 'a list of objects of strings');
  if (remove !== undefined && !(Array.isArray(remove) && remove.every((one) => typeof one === 'string'))) {
    refuse('remove', 'a list of names');
  }
  if (body !== undefined && !isRecord(body)) refuse('body', 'an object');
  if ([unique, list, remove, body, absent].every((one) => one === undefined)) {
    refuse('unique', 'given, or one of list, remove, body, absent, reset');
  }
  return { ...(given as StatusOverride), isAbsent: absent === true };
}

function readFaultName(given: Parameters): (typeof FAULT_NAMES)[number] {
  const name = readText(given, 'name');
  return isFaultName(name) ? name : refuse('name', `one of ${FAULT_NAMES.join(', ')}`);
}

function readFaultOptions(given: Parameters): FaultOptions {
  const max = Number.MAX_SAFE_INTEGER;
  const [times, delayMs] = [readWhole(given, 'times', 1, max), readWhole(given, 'delay_ms', 0, max)];
  const [retryAfterSeconds, bytes] = [readWhole(given, 'retry_after', 0, max), readWhole(given, 'bytes', 0, max)];
  const bytesPerSecond = readWhole(given, 'bytes_per_second', 1, max);
  return {
    ...(given['path'] !== undefined && { path: readText(given, 'path') }),
    ...(times !== undefined && { times }),
    ...(delayMs !== undefined && { delayMs }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(given['retry_after_date'] === true && { isRetryAfterDate: true }),
    ...(bytes !== undefined && { bytes }),
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
  };
}

function readText(given: Parameters, name: string): string {
  const value = given[name];
  return typeof value === 'string' ? value : refuse(name, 'a string');
}

function readWhole(given: Parameters, name: string, min: number, max: number): number | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  return refuse(name, `a whole number from ${min} to ${max}`);
}

function isValues(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'string');
}

function refuse(parameter: string, expected: string): never {
  throw new SimulatorError('bad-option', `The parameter ${JSON.stringify(parameter)} must be ${expected}`);
}

interface Control {
  /** Scheme, host and port. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Opens the control port: `POST /control/<router>` with an action as JSON; `GET /control` lists the routers. Throws {@link
 * SimulatorError} `bad-option` for an address reachable from other machines, because there is no login.
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
        refusal(500, renderErrorChain(cause)),
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
  if (headers.origin !== undefined) return refusal(403, 'Requests of web pages are not taken');
  if (method === 'GET' && (url === '/' || url === '/control'))
    return { status: 200, value: { routers: routers.map(describe) } };
  const name = /^\/control\/([^/?]+)$/.exec(url)?.[1];
  const router = routers.find((one) => one.name === name);
  if (!router) return refusal(404, 'There is no such router; GET /control lists them');
  if (method === 'GET') return { status: 200, value: { ...describe(router), counters: router.counters } };
  if (method !== 'POST') return refusal(405, 'An action is given with POST');
  const body = await readBody(incoming);
  if (body === undefined) return refusal(413, `The body must not be longer than ${BODY_BYTES_MAX} bytes`);
  const action = parseAction(body);
  if (!action) return refusal(400, 'The body must be a JSON object such as {"action": "restart"}');
  try {
    return { status: 200, value: { router: router.name, ...(await performControl(router, action)) } };
  } catch (cause) {
    if (cause instanceof SimulatorError) return refusal(400, renderErrorChain(cause));
    throw cause;
  }
}

function describe(router: SimulatedRouter): object {
  const { name, url, serial, deviceType, faults } = router;
  return { name, url, serial, device_type: deviceType, faults };
}

function refusal(status: number, error: string): ControlAnswer {
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
