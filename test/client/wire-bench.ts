import { onTestFinished } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import { RouterClient, type RouterClientOptions } from '../../src/client/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { type CountingProxy, openCountingProxy } from './counting-proxy.ts';
import { answerJson, type BenchOptions, type Handler, openRouter, type RouterBench } from './http-router.ts';

export const authority = await createCertificateAuthority('test authority', createSeededRandom(7));
export const certificate = authority.issue(['127.0.0.1']);

/** Answers with half a kilobyte. */
export const ok: Handler = (_request, response) => answerJson(response, { status: { unique: { a: 'x'.repeat(500) } } });

/** Answers, and closes the connection as many routers do. */
export const closing: Handler = (request, response, arrived) => {
  response.setHeader('connection', 'close');
  return ok(request, response, arrived);
};

export interface Wire {
  readonly client: RouterClient;
  readonly bench: RouterBench;
  readonly proxy: CountingProxy;
}

export interface WireOptions extends Partial<RouterClientOptions> {
  /** Greetings that the wire answers with a reset. */
  readonly unwanted?: (greeting: Buffer) => boolean;
}

/**
 * A client that reaches its router over a wire that counts, until the test is over. It trusts the authority of
 * {@link certificate}, and needs no login unless `auth` says otherwise.
 */
export async function openWire(
  handle: Handler,
  server: BenchOptions['certificate'],
  { unwanted, ...options }: WireOptions = {},
): Promise<Wire> {
  const bench = await openRouter(handle, server && { certificate: server });
  const proxy = await openCountingProxy(bench.port, unwanted);
  const client = new RouterClient({
    url: `${server ? 'https' : 'http'}://127.0.0.1:${proxy.port}`,
    username: 'monitor',
    password: 'simulated',
    auth: 'none',
    tls: { caPem: authority.caPem },
    clock: bench.clock,
    ...options,
  });
  onTestFinished(async () => {
    await client.close(AbortSignal.abort()).catch(() => {});
    await proxy[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
  });
  return { client, bench, proxy };
}
