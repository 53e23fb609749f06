import { afterAll } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient, type RouterClientOptions, type RouterError, type SessionEvent } from '../../src/client/index.ts';
import type { RouterFailure } from '../../src/model/index.ts';
import {
  type SimulatedRouter,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.ts';
import { type ForeignClient, openForeignClient } from './foreign-client.ts';

/** 08:00:00 UTC is 09:00:00 in the simulator's zone. */
export const START_MS = Date.UTC(2026, 10, 21, 8, 0, 0);
export const MINUTE_MS = 60_000;

/** The product's client, and what it reported about its session. */
interface Connected {
  readonly client: RouterClient;
  readonly events: readonly SessionEvent['type'][];
}

/** One simulated router over HTTPS, on a stepped clock that its clients share unless they bring their own. */
export interface InterfaceBench extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly simulator: Simulator;
  readonly router: SimulatedRouter;
  readonly stranger: ForeignClient;
  connect(options?: Partial<RouterClientOptions>): Connected;
  /** A connected client, as `admin` unless another account is named. */
  as(username?: string): RouterClient;
}

interface Fleet {
  readonly clock: SteppedClock;
  readonly simulator: Simulator;
}

async function startFleet(options: Partial<SimulatorOptions>): Promise<Fleet> {
  const clock = createSteppedClock(START_MS);
  return { clock, simulator: await startSimulator({ routers: 1, clock, seed: 3, ...options }) };
}

/** Making the keys of a fleet's authority takes longer than most tests, so these share fleets. */
const SHARED_ROUTERS = 20;

/**
 * Gives what opens a bench for the tests of one file. Without options: a fresh router of any model, at any time. With
 * options: router number `index` of a fleet of its own, at {@link START_MS}.
 */
export function shareFleets(): (options?: Partial<SimulatorOptions>, index?: number) => Promise<InterfaceBench> {
  const shared: Fleet[] = [];
  let taken = 0;
  afterAll(() => Promise.all(shared.map(({ simulator }) => simulator.close())));
  return async (options, index) => {
    if (options) return await openBench(await startFleet(options), true, index);
    const position = taken++;
    if (position % SHARED_ROUTERS === 0) shared.push(await startFleet({ routers: SHARED_ROUTERS }));
    const fleet = shared.at(-1);
    if (!fleet) throw new RangeError('There is no fleet');
    return await openBench(fleet, false, position % SHARED_ROUTERS);
  };
}

async function openBench({ clock, simulator }: Fleet, isOwn: boolean, index = 0): Promise<InterfaceBench> {
  await using opening = new AsyncDisposableStack();
  if (isOwn) opening.use(simulator);
  const router = simulator.routers[index];
  if (!router) throw new RangeError(`There is no router ${index}`);
  const stranger = opening.use(openForeignClient(router, simulator.caPem));
  const connect = (overrides: Partial<RouterClientOptions> = {}): Connected => {
    const events: SessionEvent['type'][] = [];
    const client = new RouterClient({
      url: router.url,
      username: 'admin',
      password: 'simulated',
      tls: { caPem: simulator.caPem },
      clock,
      report: ({ type }) => void events.push(type),
      ...overrides,
    });
    // A logout at the end would wait for routers that a test has put out of reach.
    opened.defer(() => client.close(AbortSignal.abort()).catch(() => {}));
    return { client, events };
  };
  const opened = opening.move();
  return {
    clock,
    simulator,
    router,
    stranger,
    connect,
    as: (username = 'admin') => connect({ username }).client,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What a call that must fail has thrown, as far as tests compare it. */
export async function failureOf(
  call: Promise<unknown>,
): Promise<{ code: RouterFailure; status: number | undefined; topics: string[] } | 'none'> {
  try {
    await call;
    return 'none';
  } catch (cause) {
    const { code, status, words } = cause as RouterError;
    return { code, status, topics: words.map(({ topic }) => topic) };
  }
}

/** The status that a call came to: that of its failure, or `success`. */
export async function statusOf(call: Promise<unknown>, success: number): Promise<number | undefined> {
  const failure = await failureOf(call);
  return failure === 'none' ? success : failure.status;
}

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return (await readBytes(body)).toString('utf8');
}

export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(body));
}
