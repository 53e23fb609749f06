import { createSystemClock } from '../../base/index.ts';
import { demoLogSettings, type Simulator, startSimulator } from '../../simulator/index.ts';
import { takeOrders } from '../other-process.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';
import { startDemoFaults } from './demo-faults.ts';
import type { DemoOrder, DemoReport } from './demo-messages.ts';

/**
 * `demo-routers`: the simulated routers of `demo`, in a process of their own, so that thousands of them neither take the time of
 * the agent's thread nor its open files. Ends with the process that started it, and not at a signal: the agent logs out of the
 * routers before.
 */
export async function runDemoRouters(io: CommandIo): Promise<ExitCode> {
  const clock = createSystemClock();
  const faults = new AbortController();
  let simulator: Simulator | undefined;
  const start = async ({
    routers,
    loggedRouters,
    linesPerSecond,
    timezone,
    hasFaults,
  }: DemoOrder): Promise<DemoReport> => {
    simulator = await startSimulator({
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
      type: 'started',
      caPem: simulator.caPem,
      routers: simulator.routers.map(({ name, url }) => ({ name, url })),
    };
  };
  if (!(await takeOrders({ signal: new AbortController().signal }, start))) {
    io.stderr.write('demo-routers is a part of the command demo, which starts it\n');
    return EXIT.usage;
  }
  faults.abort();
  await simulator?.close();
  return EXIT.done;
}
