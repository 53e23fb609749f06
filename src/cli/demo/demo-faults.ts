import type { Clock } from '../../base/index.ts';
import type { SimulatedRouter, Simulator } from '../../simulator/index.ts';

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
