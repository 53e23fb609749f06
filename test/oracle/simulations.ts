import { expect, test } from 'vitest';
import { judgeLife } from '../support/judge-life.ts';
import { live } from '../support/life-oracle.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

/** Number of simulations. ORACLE_SEEDS=1..2000 runs others, ORACLE_SEEDS=137 repeats one. */
const SEEDS = 80;
/** A short run takes every ninth seed. The kinds of simulation repeat after 8 seeds, so each kind is included. */
const EVERY = 9;
const SHARDS = 4;
const LIFE_MS_MAX = 120_000;

/** Runs this file's share of the seeds. Several files run in parallel. */
export function testSimulations(shard: number): void {
  const asked = process.env['ORACLE_SEEDS'];
  const [first, last] = parseSeeds(asked ?? `1..${SEEDS}`);
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const part = all.filter((seed) => seed % EVERY === 0);
  const seeds = asked === undefined ? sampled('simulations of the oracle', all, part) : all;
  const note = asked === undefined ? sampleNote('simulations of the oracle') : '';
  const own = seeds.filter((seed) => seed % SHARDS === shard);
  if (own.length === 0) test.skip('no seed of ORACLE_SEEDS belongs to this file', () => {});
  for (const seed of own) {
    const title = `24 hours of seed ${seed}: delivered lines and gaps together are what the router wrote, each line once${note}`;
    test(title, { timeout: LIFE_MS_MAX }, async () => {
      const life = await live(seed);
      const faults = judgeLife(life);
      const story = faults.length > 0 ? life.story.join('\n') : '';
      expect(faults, `Repeat with ORACLE_SEEDS=${seed} npx vitest run test/oracle\n${story}`).toEqual([]);
      expect(life.records.length).toBeGreaterThan(100);
    });
  }
}

function parseSeeds(text: string): readonly [number, number] {
  const match = /^(\d+)(?:\.\.(\d+))?$/.exec(text);
  if (!match) throw new RangeError(`ORACLE_SEEDS must be a seed or two with dots between, not ${text}`);
  return [Number(match[1]), Number(match[2] ?? match[1])];
}
