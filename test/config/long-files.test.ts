import { expect, test } from 'vitest';
import { load } from './configuration-folder.ts';

/** What an attacker, or a mistake, makes of a file that the agent watches: each takes the parser seconds or its whole time. */
const BYTES = 220_000;
const fill = (piece: string | ((index: number) => string), bytes = BYTES): string => {
  const make = typeof piece === 'string' ? () => piece : piece;
  let text = '';
  for (let index = 0; text.length < bytes; index++) text += make(index);
  return text;
};
const HOSTILE: readonly (readonly [string, string])[] = [
  ['keys of one map', fill((index) => `k${index}: 1\n`)],
  ['brackets that are opened', fill('[')],
  ['anchors', fill((index) => `- &a${index} x\n`)],
  ['tags', fill('- !!binary x\n')],
];
/** Of processor time: one iteration of 20 ms on a quiet machine, with room for a collection of garbage. Milliseconds. */
const STEP_MS_MAX = 70;
const MAIN = 'defaults: { auth: none }\nrouter_files: [r.yaml]\n';

/** Tries of one measurement: a long step of ours is in each, and a collection of what other tests have left is not. */
const TRIES = 4;

/**
 * Longest processor time of this thread between two iterations of the event loop while `work` is under way; the least of some tries.
 * Milliseconds.
 */
async function measureLongestStep(work: () => Promise<unknown>): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let left = TRIES; left > 0 && leastMs >= STEP_MS_MAX; left--)
    leastMs = Math.min(leastMs, await measureOnce(work));
  return leastMs;
}

async function measureOnce(work: () => Promise<unknown>): Promise<number> {
  const steps: number[] = [];
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    steps.push((user + system) / 1000);
    before = process.threadCpuUsage();
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(...steps);
}

test.for(HOSTILE)(
  'while an agent runs, a file of routers with 220 KB of %s takes no long step of the main thread',
  async ([, text]) => {
    const longestMs = await measureLongestStep(async () => {
      const { faults } = await load(MAIN, { files: { 'r.yaml': text }, options: { whileAgentRuns: true } });
      expect(faults.length).toBeGreaterThan(0);
    });
    expect(longestMs).toBeLessThan(STEP_MS_MAX);
  },
);

test('while an agent runs, ten thousand routers are loaded in no long step of the main thread', async () => {
  const routers = Array.from(
    { length: 10_000 },
    (_, index) =>
      `- { name: r${index}, url: "https://10.0.${index >> 8}.${index % 256}", labels: { site: s${index % 9} } }\n`,
  );
  const longestMs = await measureLongestStep(async () => {
    const { config } = await load(MAIN, { files: { 'r.yaml': routers.join('') }, options: { whileAgentRuns: true } });
    expect(config?.routers).toHaveLength(10_000);
  });
  expect(longestMs).toBeLessThan(STEP_MS_MAX);
});
