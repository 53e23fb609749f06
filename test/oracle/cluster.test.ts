import { expect, test } from 'vitest';
import { judgeLife } from '../support/judge-life.ts';
import { live, wayOf } from '../support/life-oracle.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { createClusterBench } from '../support/store-bench.ts';
import { withPrograms } from '../support/tools.ts';

/** One of each kind of simulation. */
const SEEDS = [8, 17, 26, 35, 44, 53, 62, 71];

for (const seed of SEEDS) {
  const title = `24 hours of seed ${seed} in a stream of a cluster: lines and gaps together are what the router wrote, each line once`;
  withPrograms(['nats-server'], test.skipIf(sampled('simulations of the oracle in a cluster', false, true)))(
    `${title}${sampleNote('simulations of the oracle in a cluster')}`,
    { timeout: 240_000 },
    async () => {
      await using bench = await createClusterBench();
      const life = await live(seed, wayOf(seed), (options) => bench.open(options));
      const faults = judgeLife(life);
      expect(faults, faults.length > 0 ? life.story.join('\n') : '').toEqual([]);
      expect(life.records.length).toBeGreaterThan(100);
      // The cluster must not change the records.
      expect((await live(seed)).records).toEqual(life.records);
    },
  );
}
