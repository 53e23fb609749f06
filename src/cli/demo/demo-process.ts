import { createSystemClock } from '../../base/index.ts';
import { demoLogSettings, startSimulator } from '../../simulator/index.ts';
import { takeOrders } from '../other-process.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';
import { startDemoFaults } from './demo-faults.ts';
import type { DemoOrder, DemoStarted } from './demo-messages.ts';

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
