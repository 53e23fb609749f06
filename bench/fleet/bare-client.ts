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

async function runRouter(order: BareOrder, index: number): Promise<never> {
  const { port, caPem, routers, intervalMs, paths } = order;
  const dispatcher = new Agent({ connections: 1, pipelining: 1, connect: { ca: caPem }, keepAliveTimeout: 600_000 });
  await sleep((index * intervalMs) / routers);
  for (let next = performance.now(); ; next += intervalMs) {
    for (const path of paths) {
      const { body } = await request(`https://127.0.0.1:${port}/bare-${index}/api/v2_0${path}`, { dispatcher });
      await body.arrayBuffer();
    }
    await sleep(Math.max(0, next + intervalMs - performance.now()));
  }
}

process.once('message', (message) => {
  const order = message as BareOrder;
  for (let index = 0; index < order.routers; index++) void runRouter(order, index);
});
process.on('disconnect', () => process.exit());
