import { expect, test } from 'vitest';
import { live } from '../support/life-oracle.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

/** One of each kind of simulation. */
const SEEDS = [8, 17, 26, 35, 44, 53, 62, 71];

for (const seed of sampled('simulations of the oracle on both threads', SEEDS, [26])) {
  const title = `24 hours of seed ${seed} are the same whether rotated files are read on the main thread or in a worker`;
  test(`${title}${sampleNote('simulations of the oracle on both threads')}`, { timeout: 240_000 }, async () => {
    const { records, events, unreported, readFiles, story } = await live(seed, 'main thread');
    const other = await live(seed, 'worker thread');
    expect(other.records).toEqual(records);
    expect(other.events).toEqual(events);
    expect(other).toMatchObject({ unreported, readFiles, story });
    expect(records.length).toBeGreaterThan(100);
  });
}
