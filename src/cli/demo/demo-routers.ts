import { storePast } from '../../agent/index.ts';
import { type Clock, createSteppedClock, createSystemClock, yieldToLoop } from '../../base/index.ts';
import type { Config } from '../../config/index.ts';
import { demoLogSettings, type SimulatedRouter, type Simulator, startSimulator } from '../../simulator/index.ts';
import { filterModules } from '../../status/index.ts';
import { EmbeddedStore } from '../../store/index.ts';
import { type CommandIo, EXIT, type ExitCode } from '../support/io.ts';
import { takeOrders } from '../support/other-process.ts';

/** Not UTC, to show the conversion. */
export const TIMEZONE = 'Europe/Berlin';
/** With {@link FLEET_MODULES}: one machine runs routers and agent. */
const POLLS_PER_SECOND_MAX = 25;
/** Larger fleets have only {@link FLEET_MODULES}, and logs of so many routers. */
const WHOLE_ROUTERS_MAX = 100;
/** They provide the values of the fleet page. */
const FLEET_MODULES = ['system', 'modem', 'wan'];
/** Concurrent runs. With more, the first polls share two cores, and all of them time out. */
const RUNS_MAX = { whole: 8, part: 32 };
/** The default of `poll.interval`, so that the bytes are those of a usual fleet. */
const INTERVAL_S_MIN = 60;
/** Of each router with logs. */
const LINES_PER_SECOND = 1;
/** Time before the start from which there are log lines, and in a small fleet a history. */
const HISTORY_MS = 24 * 3_600_000;
/** The history of each takes some hundredths of a second. */
const HISTORY_ROUTERS_MAX = 32;
/** Charts and events show these, and a poll of all others would take longer. */
const HISTORY_METRICS = ['router_device_info', 'router_uptime_*', 'router_modem_rs*_dbm', 'router_interface_*bytes*'];
/** Files that rotate in front of the user, and are kept long enough for the default of `logs.interval`. */
const LOG_SETTINGS = { ...demoLogSettings, maxSizeBytes: 16_384, compressionMs: 500, severityBrackets: true };

/** Thousands of routers have intervals that one machine carries. */
export function findDemoPace(routers: number) {
  const intervalS = Math.max(INTERVAL_S_MIN, Math.ceil(routers / POLLS_PER_SECOND_MAX));
  if (routers <= WHOLE_ROUTERS_MAX) return { intervalS, modules: undefined, runsMax: RUNS_MAX.whole };
  return { intervalS, modules: FLEET_MODULES, runsMax: RUNS_MAX.part };
}

export async function startDemoRouters(order: DemoOrder): Promise<DemoRouters & AsyncDisposable> {
  const { routers, hasFaults } = order;
  const clock = createSystemClock();
  const faults = new AbortController();
  const simulator = await startSimulator({
    routers,
    clock,
    seed: 1,
    logActivity: 'live',
    liveRouters: Math.min(routers, WHOLE_ROUTERS_MAX),
    timezone: TIMEZONE,
    logs: LOG_SETTINGS,
    logLinesPerSecond: LINES_PER_SECOND,
    logHistoryMs: HISTORY_MS,
    ...(hasFaults && { past: (index) => (findSite(index) === 'west' ? 'power-cut' : TROUBLES[index]) }),
    features: { rangeRequests: true },
  });
  if (hasFaults) await startDemoFaults(simulator, clock, faults.signal);
  const left = simulator.routers.slice(0, HISTORY_ROUTERS_MAX);
  return {
    started: {
      type: 'started',
      caPem: simulator.caPem,
      routers: simulator.routers.map(({ name, url }) => ({ name, url })),
    },
    async storeHistory({ routers: configured, storage: { path } }, signal) {
      using store = new EmbeddedStore({ path, spoolBytesMax: 0, now: () => clock.now() });
      const filter = { allow: HISTORY_METRICS.map((name) => ({ name, labels: {} })) };
      for (const [index, router] of left.splice(0).entries()) {
        const past = createSteppedClock(clock.now() - HISTORY_MS);
        const one = configured[index];
        // A signal is only noticed between two of them.
        await yieldToLoop();
        if (!one || signal.aborted) return;
        await storePast({ ...one, modules: filterModules(one.modules, filter) }, router.openPast(past), store, past);
      }
    },
    async [Symbol.asyncDispose]() {
      faults.abort();
      await simulator.close();
    },
  };
}

export interface DemoRouters {
  readonly started: DemoStarted;
  /**
   * Stores what an agent with this configuration would have kept of the day before the start; once, also if the agent is started again,
   * at another address. Absent: the routers are in another process.
   */
  readonly storeHistory?: (config: Config, signal: AbortSignal) => Promise<void>;
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
  readonly hasFaults: boolean;
}

interface DemoStarted {
  readonly type: 'started';
  readonly caPem: string;
  /** In the order of their numbers. */
  readonly routers: readonly Pick<SimulatedRouter, 'name' | 'url'>[];
}

export type DemoReport = DemoStarted | { readonly type: 'failed'; readonly error: string };

const FAULTY = { refused: 1, slow: 2, lossy: 3 };

export const FAULTY_ROUTERS_MIN = Object.keys(FAULTY).length + 1;

/** Delay of each status: above 2 s, a router counts as slow. It answers a logout at once, because the end does not wait long. */
const SLOW_MS = 2500;
const BURST_EVERY_MS = 120_000;
/** Twice the files that the router keeps, in case a reading falls into the middle of the burst. */
const BURST_FILES = 16;
/** The name of a file has the second of its rotation. */
const FILE_EVERY_MS = 1200;
const LINES_PER_FILE = 20;

const SITES = ['north', 'east', 'south', 'west'];
/** A larger fleet has a fifth one. */
const findSite = (index: number) => (index > 15 && index % 3 === 0 ? 'centre' : SITES[index % SITES.length]);

/** What has befallen the first routers before the start; a whole site had no power. */
const TROUBLES = { [FAULTY.refused]: 'other-password', [FAULTY.slow]: 'slow', 4: 'weak-signal' } as const;

/** Part of a YAML flow map. */
export function renderRouterSettings(index: number, hasFaults: boolean): string {
  const site = `, labels: { site: ${findSite(index)} }`;
  if (index >= WHOLE_ROUTERS_MAX) return `${site}, logs: { enabled: false }`;
  if (hasFaults && index === FAULTY.refused) return `${site}, password: wrong`;
  const modules = `[${FLEET_MODULES.join(', ')}]`;
  // A poll of all resources would take longer than the interval.
  return hasFaults && index === FAULTY.slow ? `${site}, modules: ${modules}, poll: { deadline: 59s }` : site;
}

const REBOOT_AFTER_MS = 40_000;
const OUTAGE_AFTER_MS = 60_000;
/** A change of the configuration is only seen if two polls before it had the same. */
const CHANGE_AFTER_MS = 90_000;
const OUTAGE_MS = 120_000;
/** A demo of thousands is not to lose a quarter of them. */
const OUTAGE_ROUTERS_MAX = 10;

/**
 * Makes one router slow, and one lose lines, until `signal` aborts. The third fault, a refused login, is in the
 * configuration. One router's configuration changes, one restarts, and all of a site are down for two minutes.
 */
export async function startDemoFaults({ routers }: Simulator, clock: Clock, signal: AbortSignal): Promise<void> {
  await routers[FAULTY.slow]?.fault('slow', { delayMs: SLOW_MS, path: '/status' });
  const lossy = routers[FAULTY.lossy];
  if (lossy) void loseLines(lossy, clock, signal).catch(() => {});
  void playEvents(routers, clock, signal).catch(() => {});
}

async function playEvents(routers: readonly SimulatedRouter[], clock: Clock, signal: AbortSignal): Promise<void> {
  const site = routers.filter((_, index) => findSite(index) === 'north').slice(0, OUTAGE_ROUTERS_MAX);
  const after = (ms: number, act: (router: SimulatedRouter) => unknown, of: readonly SimulatedRouter[]) =>
    clock.sleep(ms, signal).then(() => Promise.all(of.map(act)));
  await Promise.all([
    after(REBOOT_AFTER_MS, (router) => router.restart(), routers.slice(-1)),
    after(OUTAGE_AFTER_MS, (router) => router.fault('down'), site),
    after(CHANGE_AFTER_MS, (router) => router.changeConfiguration(), routers.slice(-2, -1)),
    after(OUTAGE_AFTER_MS + OUTAGE_MS, (router) => router.clearFault('down'), site),
  ]);
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
