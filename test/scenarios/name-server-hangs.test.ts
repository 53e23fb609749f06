import dns, { type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const MINUTE_MS = 60_000;
/** Lookups that the system runs at a time: half of the threads of Node.js. */
const RUNNING_MAX = 2;
/** Iterations of the event loop in which network data arrives. */
const TURNS = 20;
const HEALTHY = 'plant-7.example.test';

type Answer = (error: Error | null, addresses: LookupAddress[]) => void;

/** Answers for one name as the system does, and leaves the others without an answer. */
function stubLookup() {
  const waiting: { name: string; answer: Answer }[] = [];
  let running = 0;
  const proceed = () => {
    for (; running < RUNNING_MAX; running++) {
      const next = waiting.shift();
      if (!next) return;
      if (next.name !== HEALTHY) continue;
      queueMicrotask(() => {
        running--;
        next.answer(null, [{ address: '127.0.0.1', family: 4 }]);
        proceed();
      });
    }
  };
  const original = dns.lookup;
  vi.spyOn(dns, 'lookup').mockImplementation((...args: unknown[]) => {
    const [name, answer] = [String(args[0]), args.at(-1)];
    if (isIP(name) !== 0) Reflect.apply(original, dns, args);
    else if (typeof answer === 'function') waiting.push({ name, answer: answer as Answer });
    proceed();
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

test('routers whose name server does not answer keep no other router from being resolved and polled', async () => {
  stubLookup();
  await using fleet = await startFleet({
    simulator: { plainHttp: true },
    config: (config) => ({
      ...config,
      sinks: [],
      routers: config.routers.flatMap((router) => [
        ...Array.from({ length: 20 }, (_, index) => ({
          ...router,
          name: `dead-${index}`,
          url: `http://dead-${index}.customer.test`,
        })),
        { ...router, url: `http://${HEALTHY}:${new URL(router.url).port}` },
      ]),
    }),
  });
  // Polls that wait for a name server do not end before their time.
  await fleet.clock.advance(5 * MINUTE_MS, () => takeTurns(TURNS));
  const metrics = await fleet.metrics();
  expect(metrics).toMatch(/^router_up\{router="sim-1"\} 1$/m);
  expect(metrics).toMatch(/^router_consecutive_failures\{router="sim-1"\} 0$/m);
  expect(metrics).toMatch(/^router_up\{router="dead-19"\} 0$/m);
});
