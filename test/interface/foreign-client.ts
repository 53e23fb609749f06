import type { SimulatedRouter } from '../../src/simulator/index.ts';
import { type Answer, openClient } from '../simulator/client.ts';

interface RequestOptions {
  readonly token?: string | undefined;
  /** Sent as JSON, and as it is when it is a text. */
  readonly body?: unknown;
  readonly authorization?: string;
}

/** Speaks HTTPS to one router without a line of the product: what it sees is what travels. */
export interface ForeignClient extends AsyncDisposable {
  /** `path` begins behind `/api/v2_0`. */
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  get(path: string, token?: string): Promise<Answer>;
  login(username?: string): Promise<{ access: string; refresh: string }>;
  /** From now on answers need not match the description: for calls that are deliberately none of the interface. */
  allowUndescribed(): void;
}

/** Opens one; as in the tests of the simulator, every answer is held against the description of the interface. */
export function openForeignClient(router: SimulatedRouter, caPem: string): ForeignClient {
  const client = openClient(router, caPem);
  return {
    send: (method, path, { token, body, authorization } = {}) =>
      client.send(method, path, {
        token,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      }),
    get: (path, token) => client.get(path, token),
    login: (username) => client.login(username),
    allowUndescribed: () => client.allowUndescribed(),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
