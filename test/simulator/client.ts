import { AssertionError } from 'node:assert';
import { Agent, request } from 'undici';
import { createSteppedClock } from '../../src/base/index.ts';
import {
  describeInterface,
  type SimulatedRouter,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.ts';
import { openOpenApiValidator } from '../support/openapi-validator.ts';

/** What routers say about their own interface; every answer is held against it. */
const description = await openOpenApiValidator(describeInterface());

/** 08:00:00 UTC is 09:00:00 in the simulator's default zone. */
export const START_MS = Date.UTC(2026, 10, 21, 8, 0, 0);

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape they then check.
  readonly json: any;
}

interface RequestOptions {
  readonly token?: string | undefined;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Client extends AsyncDisposable {
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string, token?: string): Promise<Answer>;
  /** Logs in and returns the tokens. */
  login(username?: string): Promise<{ access: string; refresh: string }>;
  /** From now on answers need not match the description: for tests that make the router say something else. */
  allowUndescribed(): void;
}

/**
 * Speaks to one router the way a stranger would: with nothing of the product but its address. Unless a fault is in force,
 * every answer has to match the description of the interface, and so has every body that the router accepts.
 */
export function openClient(router: SimulatedRouter, caPem: string): Client {
  const dispatcher = new Agent(caPem ? { connect: { ca: caPem } } : {});
  let isHeldToDescription = true;
  const client: Client = {
    async send(method, path, { token, body, headers } = {}) {
      // Looked at before: a fault may be over with this very request.
      const isSound = router.faults.length === 0;
      const answer = await request(`${router.url}/api/v2_0${path}`, {
        method: method as 'GET',
        dispatcher,
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const text = bytes.toString('utf8');
      if (isSound && isHeldToDescription) {
        const contentType = answer.headers['content-type']?.toString();
        const message =
          description.explainAnswer({ method, path, status: answer.statusCode, contentType, body: bytes }) ??
          (body !== undefined && answer.statusCode < 300 && description.explainRequest(method, path, body));
        if (message) throw new AssertionError({ message });
      }
      return {
        status: answer.statusCode,
        headers: answer.headers,
        bytes,
        text,
        get json() {
          return JSON.parse(text);
        },
      };
    },
    get: (path, token) => client.send('GET', path, token === undefined ? {} : { token }),
    async login(username = 'admin') {
      const body = JSON.stringify({ username, password: 'simulated' });
      return (await client.send('POST', '/auth/login', { body })).json;
    },
    allowUndescribed() {
      isHeldToDescription = false;
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
  return client;
}

/** One router on plain HTTP and a stepped clock, with a client. */
export async function openBench(options: Partial<SimulatorOptions> = {}) {
  await using opening = new AsyncDisposableStack();
  const clock = createSteppedClock(START_MS);
  const simulator = opening.use(await startSimulator({ routers: 1, clock, seed: 1, plainHttp: true, ...options }));
  const [router] = simulator.routers;
  if (!router) throw new TypeError('A fleet of one router has one router');
  const client = opening.use(openClient(router, simulator.caPem));
  const opened = opening.move();
  return { clock, simulator, router, client, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The same, logged in: `call` sends a value as JSON with the token of `username`. */
export async function openAdmin(options: Partial<SimulatorOptions> = {}, username = 'admin') {
  const bench = await openBench(options);
  const { access } = await bench.client.login(username);
  const call = (method: string, path: string, value?: unknown) =>
    bench.client.send(method, path, { token: access, ...(value !== undefined && { body: JSON.stringify(value) }) });
  return { ...bench, access, call };
}

/** A path with query parameters; what is no text is written as JSON. */
export function withQuery(path: string, query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return `${path}?${new URLSearchParams(pairs as [string, string][]).toString()}`;
}

export const listPath = '/download/log?list_files=1';
export const filePath = (file: string) => `/download/log?log_file=${encodeURIComponent(file)}`;
