import { type Clock, createSystemClock } from '../../base/index.ts';
import { demoLogSettings, type SimulatedRouter, type Simulator, startSimulator } from '../../simulator/index.ts';
import { takeOrders } from '../other-process.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';

/** Simulated routers that run in this process until they are disposed of. */
interface DemoRouters extends AsyncDisposable {
  /** Facts about them that the agent needs. */
  readonly started: DemoStarted;
}

/** Starts the simulated routers of a demo in this process. */
export async function startDemoRouters(order: DemoOrder): Promise<DemoRouters> {
  const { routers, loggedRouters, linesPerSecond, timezone, hasFaults } = order;
  const clock = createSystemClock();
  const faults = new AbortController();
  const simulator = await startSimulator({
    routers,
    clock,
    seed: 1,
    logActivity: 'live',
    liveRouters: loggedRouters,
    timezone,
    logs: demoLogSettings,
    logLinesPerSecond: linesPerSecond,
  });
  if (hasFaults) await startDemoFaults(simulator, clock, faults.signal);
  return {
    started: {
      type: 'started',
      caPem: simulator.caPem,
      routers: simulator.routers.map(({ name, url }) => ({ name, url })),
    },
    async [Symbol.asyncDispose]() {
      faults.abort();
      await simulator.close();
    },
  };
}

/**
 * `demo-routers`: the simulated routers of a large `demo`, in a process of their own, so that thousands of them neither take the
 * time of the agent's thread nor its open files. Ends with the process that started it, and not at a signal: the agent logs out of
 * the routers before.
 */
export async function runDemoRouters(io: CommandIo): Promise<ExitCode> {
  await using running = new AsyncDisposableStack();
  const start = async (order: DemoOrder): Promise<DemoStarted> => running.use(await startDemoRouters(order)).started;
  if (!(await takeOrders({ signal: new AbortController().signal }, start))) {
    io.stderr.write('demo-routers is a part of the command demo, which starts it\n');
    return EXIT.usage;
  }
  return EXIT.done;
}

/** An order to the process of the simulated routers. */
export interface DemoOrder {
  readonly type: 'start';
  /** Number of routers. */
  readonly routers: number;
  /** Number of routers, the first ones, that write logs. */
  readonly loggedRouters: number;
  /** Lines that one router writes per second. */
  readonly linesPerSecond: number;
  /** IANA name of the zone of their clocks. */
  readonly timezone: string;
  /** True for routers that fail. */
  readonly hasFaults: boolean;
}

/** The routers that it has started. */
export interface DemoStarted {
  readonly type: 'started';
  /** Certificate of the authority that signed the certificates of all routers. */
  readonly caPem: string;
  /** In the order of their numbers. */
  readonly routers: readonly DemoRouter[];
}

/** Its answer. */
export type DemoReport = DemoStarted | { readonly type: 'failed'; readonly error: string };

/** A simulated router. */
interface DemoRouter {
  readonly name: string;
  readonly url: string;
}

/** Numbers of the routers of a demo that have something wrong. */
const FAULTY = { refused: 1, slow: 2, lossy: 3 };

/** Number of routers that a demo with faults needs: one is healthy. */
export const FAULTY_ROUTERS_MIN = Object.keys(FAULTY).length + 1;

/** Delay of each answer of the slow router: above 2 s it counts as slow. */
const SLOW_MS = 2500;
/** Time between two bursts of lines of the router that loses lines. */
const BURST_EVERY_MS = 120_000;
/** More files than the router keeps, twice: before and after a reading in the middle of the burst. */
const BURST_FILES = 16;
/** Files are named by the second of their rotation. */
const FILE_EVERY_MS = 1200;
const LINES_PER_FILE = 20;

/** Renders what is different in the configuration of a router with faults; empty for all others. Part of a YAML flow map. */
export function renderFaultySettings(index: number): string {
  if (index === FAULTY.refused) return ', password: wrong';
  if (index === FAULTY.slow)
    return ', modules: [system, modem, wan], poll: { interval: 60s, timeout: 10s, deadline: 59s, stale_after: 5m }';
  if (index === FAULTY.lossy) return ', logs: { interval: 40s }';
  return '';
}

/** Makes one router slow, and one lose lines, until `signal` aborts. The refused login is in the configuration. */
export async function startDemoFaults({ routers }: Simulator, clock: Clock, signal: AbortSignal): Promise<void> {
  await routers[FAULTY.slow]?.fault('slow', { delayMs: SLOW_MS });
  const lossy = routers[FAULTY.lossy];
  // Ends with the signal.
  if (lossy) void loseLines(lossy, clock, signal).catch(() => {});
}

/** Writes so much, again and again, that the router deletes files before anybody has read them. */
async function loseLines(router: SimulatedRouter, clock: Clock, signal: AbortSignal): Promise<never> {
  for (;;) {
    await clock.sleep(BURST_EVERY_MS / 4, signal);
    for (let file = 1; file <= BURST_FILES; file++) {
      for (let line = 1; line <= LINES_PER_FILE; line++) {
        router.appendLog('network', `lte2: registration denied, cause 15, attempt ${line} with profile ${file}`);
      }
      router.rotate('network', 'lte2: next profile');
      await clock.sleep(FILE_EVERY_MS, signal);
    }
    await clock.sleep((BURST_EVERY_MS * 3) / 4, signal);
  }
}
