/**
 * Counts the files of src/ whose functions run in one warm step of the program: a scrape, a poll, a log line, a load of the
 * configuration, a page of a router. The simulator and other threads are left out.
 *
 *   npx node tools/journeys.ts     prints their names; the numbers are printed by tools/size.ts
 */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { AGENT_FAMILIES } from '../src/agent/index.ts';
import { createSystemClock } from '../src/base/index.ts';
import { type LoadOptions, loadConfig } from '../src/config/index.ts';
import { SHIPPED_RULES } from '../src/logs/index.ts';
import { startSimulator } from '../src/simulator/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../src/status/index.ts';
import { type Fleet, startFleet } from '../test/support/fleet.ts';
import { createRouterSettings } from '../test/support/router-settings.ts';
import { writeRunConfig } from '../test/support/run-config.ts';

/** Steps whose files are counted. */
export const STEPS = ['scrape', 'poll', 'log line', 'load', 'router page'] as const;
export type Step = (typeof STEPS)[number];

const SRC = fileURLToPath(new URL('../src/', import.meta.url));
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Steps before the one that is watched: what happens the first time only is no part of it. */
const WARM_STEPS = 3;
/** As commands load a configuration. */
const LOAD_OPTIONS: LoadOptions = {
  shippedModules: SHIPPED_MODULES_FOLDER,
  agentFamilies: AGENT_FAMILIES,
  shippedRules: SHIPPED_RULES,
};

/** Takes each step several times in this process, the last time under V8's precise coverage, and returns the files of each. */
export async function measureJourneys(): Promise<Readonly<Record<Step, readonly string[]>>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const watch = async (step: () => Promise<unknown>): Promise<string[]> => {
    for (let count = 0; count < WARM_STEPS; count++) await step();
    await session.post('Profiler.takePreciseCoverage');
    await step();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)));
    const files = ran.flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []));
    return files
      .flatMap((file) => (file.startsWith(SRC) ? [file.slice(SRC.length)] : []))
      .filter(isCounted)
      .toSorted();
  };
  try {
    return {
      ...(await withFleet(MINUTE_MS, HOUR_MS, async (fleet) => ({
        scrape: await watch(() => fleet.metrics()),
        'router page': await watch(() => fleet.metrics('/router/sim-1')),
        poll: await watch(() => fleet.advance(MINUTE_MS)),
      }))),
      ...(await withFleet(HOUR_MS, MINUTE_MS, async (fleet) => ({
        'log line': await watch(async () => {
          fleet.router().appendLog('network', 'a line');
          await fleet.advance(MINUTE_MS);
        }),
      }))),
      load: await withConfig((file) => watch(() => loadConfig(file, {}, LOAD_OPTIONS))),
    };
  } finally {
    session.disconnect();
  }
}

function isCounted(file: string): boolean {
  return !file.startsWith('simulator/');
}

async function withFleet<T>(pollMs: number, logsMs: number, use: (fleet: Fleet) => Promise<T>): Promise<T> {
  const { poll, logs } = createRouterSettings('');
  const router = {
    poll: { ...poll, interval: pollMs, stale_after: 3 * pollMs },
    logs: { ...logs, interval: logsMs },
  };
  await using fleet = await startFleet({ router });
  await fleet.advance(3 * MINUTE_MS);
  return await use(fleet);
}

async function withConfig<T>(use: (file: string) => Promise<T>): Promise<T> {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using config = await writeRunConfig(simulator);
  return await use(config.file);
}

if (import.meta.main) {
  const journeys = await measureJourneys();
  for (const step of STEPS) {
    process.stdout.write(`${step}\n${journeys[step].map((file) => `  ${file}\n`).join('')}`);
  }
}
