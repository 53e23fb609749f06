import { Agent, request } from 'undici';
import type { SimulatedRouter } from '../../src/simulator/index.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape they then check.
  readonly json: any;
}

export interface RequestOptions {
  readonly token?: string | undefined;
  /** Sent as JSON, and as it is when it is a text. */
  readonly body?: unknown;
  readonly authorization?: string;
}

/** Speaks HTTPS to one router without a line of the product: what it sees is what travels. */
export interface Stranger extends AsyncDisposable {
  /** `path` begins behind `/api/v2_0`. */
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string, token?: string): Promise<Answer>;
  login(username?: string): Promise<{ access: string; refresh: string }>;
}

export function openStranger(router: SimulatedRouter, caPem: string): Stranger {
  const dispatcher = new Agent({ connect: { ca: caPem } });
  const stranger: Stranger = {
    async send(method, path, { token, body, authorization } = {}) {
      const value = token === undefined ? authorization : `Bearer ${token}`;
      const answer = await request(`${router.url}/api/v2_0${path}`, {
        method: method as 'GET',
        dispatcher,
        headers: {
          ...(value !== undefined && { authorization: value }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const text = bytes.toString('utf8');
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
    get: (path, token) => stranger.send('GET', path, { token }),
    async login(username = 'admin') {
      return (await stranger.send('POST', '/auth/login', { body: { username, password: 'simulated' } })).json;
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
  return stranger;
}
