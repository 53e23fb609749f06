import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { RecordFeed } from '../../src/cluster/record-feed.ts';
import { Subjects } from '../../src/cluster/subjects.ts';
import { createClusterBench } from '../support/store-bench.ts';
import { withPrograms } from '../support/tools.ts';

const MESSAGES = 70;
const MESSAGE_BYTES = 150_000;
const OUTAGE_MS = 6 * 60_000;

withPrograms(['nats-server'], test)(
  'RecordFeed continues silently when its sink reads nothing for so long that the server removes the consumer',
  { timeout: 40_000 },
  async () => {
    await using bench = await createClusterBench();
    const subjects = new Subjects('test');
    let passedMs = 0;
    const system = createSystemClock();
    const clock = { ...system, monotonic: () => system.monotonic() + passedMs };
    const link = new ClusterLink({ servers: [bench.server.url], clock, who: 'Test', peer: 'cluster' }, () => {});
    for (let seq = 1; seq <= MESSAGES; seq++) {
      await link.publish({
        subject: subjects.of({ kind: 'rec', router: 'plant-7', component: 'network' }),
        payload: Buffer.alloc(MESSAGE_BYTES),
        words: ['Rx-Records', '1', 'Rx-Time', '1'],
      });
    }
    const silent: unknown[] = [];
    const events = { onRecords: () => {}, onSilent: (cause: unknown) => silent.push(cause) };
    const feed = new RecordFeed(link, subjects, 1, events);
    // It asks for no more while it holds so much.
    await vi.waitFor(() => expect(feed.held.length).toBe(64), { timeout: 10_000 });
    const { consumers } = await link.ask(`CONSUMER.NAMES.${subjects.stream}`);
    passedMs = OUTAGE_MS;
    for (const name of consumers as string[]) await link.ask(`CONSUMER.DELETE.${subjects.stream}.${name}`);
    feed.dropBefore(64);
    await vi.waitFor(() => expect(feed.held.at(-1)?.seq).toBe(MESSAGES), { timeout: 10_000 });
    expect([silent, feed.held.length]).toEqual([[], 7]);
    await feed.close();
    await link.close();
  },
);
