/**
 * The least that asking costs: kept connections, the same requests at the same pace, the bodies read and dropped. The first
 * messages of the parent process say what to ask; at each `count` it is told how many answers there were.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** What to ask. */
export interface BareOrder {
  readonly port: number;
  readonly caPem: string;
  /** Number of the first router, and how many there are. */
  readonly first: number;
  readonly routers: number;
  readonly intervalMs: number;
  /** Paths of one turn, below the root of the interface. */
  readonly paths: readonly string[];
}

/** As long as the agent waits for an answer. Milliseconds. */
const TIMEOUT_MS = 10_000;
/** Answers so far. */
let answers = 0;

async function runRouter(order: BareOrder, index: number): Promise<never> {
  const { port, caPem, first, routers, intervalMs, paths } = order;
  const dispatcher = new Agent({ connections: 1, pipelining: 1, connect: { ca: caPem }, keepAliveTimeout: 600_000 });
  await sleep((index * intervalMs) / routers);
  for (let next = performance.now(); ; next += intervalMs) {
    for (const path of paths) {
      try {
        const { body } = await request(`https://127.0.0.1:${port}/r${first + index}/api/v2_0${path}`, {
          dispatcher,
          headersTimeout: TIMEOUT_MS,
        });
        await body.arrayBuffer();
        answers++;
      } catch {
        // The router is dead; the agent does not ask it for the rest of the turn either.
        break;
      }
    }
    await sleep(Math.max(0, next + intervalMs - performance.now()));
  }
}

process.on('message', (message) => {
  if (message === 'count') {
    process.send?.(answers);
    return;
  }
  const order = message as BareOrder;
  for (let index = 0; index < order.routers; index++) void runRouter(order, index);
});
process.on('disconnect', () => process.exit());
