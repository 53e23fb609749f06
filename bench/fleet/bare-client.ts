/**
 * The least that asking costs: kept connections, the same requests at the same pace, the bodies read and dropped. The
 * message of the parent process says what to ask.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** What to ask. */
export interface BareOrder {
  readonly port: number;
  readonly caPem: string;
  readonly routers: number;
  readonly intervalMs: number;
  /** Paths of one turn, below the root of the interface. */
  readonly paths: readonly string[];
}

/** As long as the agent waits for an answer. Milliseconds. */
const TIMEOUT_MS = 10_000;

async function runRouter(order: BareOrder, index: number): Promise<never> {
  const { port, caPem, routers, intervalMs, paths } = order;
  const dispatcher = new Agent({ connections: 1, pipelining: 1, connect: { ca: caPem }, keepAliveTimeout: 600_000 });
  await sleep((index * intervalMs) / routers);
  for (let next = performance.now(); ; next += intervalMs) {
    for (const path of paths) {
      try {
        const { body } = await request(`https://127.0.0.1:${port}/bare-${index}/api/v2_0${path}`, {
          dispatcher,
          headersTimeout: TIMEOUT_MS,
        });
        await body.arrayBuffer();
      } catch {
        // The router is dead; the agent does not ask it for the rest of the turn either.
        break;
      }
    }
    await sleep(Math.max(0, next + intervalMs - performance.now()));
  }
}

process.on('message', (message) => {
  const order = message as BareOrder;
  for (let index = 0; index < order.routers; index++) void runRouter(order, index);
});
process.on('disconnect', () => process.exit());
