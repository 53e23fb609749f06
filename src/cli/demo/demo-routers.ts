import { type Clock, createSystemClock } from '../../base/index.ts';
import { demoLogSettings, type SimulatedRouter, type Simulator, startSimulator } from '../../simulator/index.ts';
import { type CommandIo, EXIT, type ExitCode } from '../support/io.ts';
import { takeOrders } from '../support/other-process.ts';

interface DemoPace {
  readonly intervalS: number;
  readonly timeoutS: number;
  readonly deadlineS: number;
  readonly staleAfterS: number;
  readonly logIntervalS: number;
  /** Per router. */
  readonly linesPerSecond: number;
  readonly modules: readonly string[] | undefined;
  readonly runsMax: number;
}

/** In total, with all modules and with {@link FLEET_MODULES}: one machine runs routers and agent. */
const POLLS_PER_SECOND_MAX = { whole: 5, part: 25 };
const WHOLE_ROUTERS_MAX = 100;
/** They provide the values of the fleet page. */
const FLEET_MODULES = ['system', 'modem', 'wan'];
export const LOGGED_ROUTERS_MAX = 100;
/** Concurrent runs. With more, the first polls share two cores, and all of them time out. */
const RUNS_MAX = { whole: 8, part: 32 };
const INTERVAL_S_MIN = 2;
const DEADLINE_S_MAX = 45;
const TIMEOUT_S_MAX = 10;
/** Simulated routers keep their log files longer, so that no lines are lost unintentionally. */
const LOG_INTERVAL_S_MAX = 30;
/** Lines per second. At the maximum, log files rotate every 10 s. */
const LINES_PER_ROUTER = { most: 9, least: 0.3 };
const LINES_PER_SECOND_MAX = 300;

/** A few routers have short intervals; thousands have intervals that one machine carries. */
export function findDemoPace(routers: number): DemoPace {
  const extent = routers > WHOLE_ROUTERS_MAX ? 'part' : 'whole';
  const intervalS = Math.max(INTERVAL_S_MIN, Math.ceil(routers / POLLS_PER_SECOND_MAX[extent]));
  return {
    intervalS,
    timeoutS: Math.min(TIMEOUT_S_MAX, intervalS / 2),
    deadlineS: Math.min(DEADLINE_S_MAX, intervalS),
    staleAfterS: Math.max(30, 3 * intervalS),
    modules: extent === 'part' ? FLEET_MODULES : undefined,
    runsMax: RUNS_MAX[extent],
    logIntervalS: Math.min(LOG_INTERVAL_S_MAX, intervalS / 2),
    linesPerSecond: Math.min(LINES_PER_ROUTER.most, Math.max(LINES_PER_ROUTER.least, LINES_PER_SECOND_MAX / routers)),
  };
}

interface DemoRouters extends AsyncDisposable {
  readonly started: DemoStarted;
}

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
 * `demo-routers`: the simulated routers of a large `demo`, in a process with a thread and open files of its own. Ends
 * with its parent process, not at a signal, because the agent first logs out of the routers.
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

export interface DemoOrder {
  readonly type: 'start';
  readonly routers: number;
  /** The first so many routers write logs. */
  readonly loggedRouters: number;
  readonly linesPerSecond: number;
  readonly timezone: string;
  readonly hasFaults: boolean;
}

export interface DemoStarted {
  readonly type: 'started';
  readonly caPem: string;
  /** In the order of their numbers. */
  readonly routers: readonly DemoRouter[];
}

export type DemoReport = DemoStarted | { readonly type: 'failed'; readonly error: string };

interface DemoRouter {
  readonly name: string;
  readonly url: string;
}

const FAULTY = { refused: 1, slow: 2, lossy: 3 };

export const FAULTY_ROUTERS_MIN = Object.keys(FAULTY).length + 1;

/** Delay of each answer: above 2 s, a router counts as slow. */
const SLOW_MS = 2500;
const BURST_EVERY_MS = 120_000;
/** Twice the files that the router keeps, in case a reading falls into the middle of the burst. */
const BURST_FILES = 16;
/** The name of a file has the second of its rotation. */
const FILE_EVERY_MS = 1200;
const LINES_PER_FILE = 20;

/** Part of a YAML flow map; empty for routers without faults. */
export function renderFaultySettings(index: number): string {
  if (index === FAULTY.refused) return ', password: wrong';
  if (index === FAULTY.slow)
    return ', modules: [system, modem, wan], poll: { interval: 60s, timeout: 10s, deadline: 59s, stale_after: 5m }';
  if (index === FAULTY.lossy) return ', logs: { interval: 40s }';
  return '';
}

/**
 * Makes one router slow, and one lose lines, until `signal` aborts. The third fault, a refused login, is in the
 * configuration.
 */
export async function startDemoFaults({ routers }: Simulator, clock: Clock, signal: AbortSignal): Promise<void> {
  await routers[FAULTY.slow]?.fault('slow', { delayMs: SLOW_MS });
  const lossy = routers[FAULTY.lossy];
  if (lossy) void loseLines(lossy, clock, signal).catch(() => {});
}

/** Writes so much that the router deletes files before they are read. */
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
