import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import { DeadLetterStore } from '../../src/store/index.ts';
import { bundledChild, startProgram } from '../support/child.ts';
import type { KilledCouriersPlan } from '../support/killed-workers.child.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openElasticsearchServer } from '../support/sinks/elasticsearch-server.ts';
import { readRotatedRecords } from '../support/sinks/file-records.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const CHILD = bundledChild(new URL('../support/killed-workers.child.ts', import.meta.url));
const KILLS = sampled('kills of delivery workers', 200, 6);
/** More points than a process comes to between two kills, so that most of them end by one. */
const POINTS_MAX = 40;
const RECORDS_PER_KILL = 25;

withPrograms(['nats-server'], test)(
  `${KILLS} kills -9 at seeded points lose no record at any of four sinks, and those with a key hold each once${sampleNote('kills of delivery workers')}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-crash-'));
    try {
      await using http = await openHttpServer();
      await using elasticsearch = await openElasticsearchServer();
      await using nats = await openNatsServer();
      await nats.addStream({ name: 'LOGS', subjects: ['logs.>'], duplicate_window: 600_000_000_000 });
      const refused = 'uid-000100';
      elasticsearch.refuse(refused, { status: 400, type: 'mapper_parsing_exception', reason: 'no' });
      const plan = { folder, httpUrl: http.url, elasticsearchUrl: elasticsearch.url, natsUrl: nats.url };
      let kills = 0;
      for (let seed = 1; kills < KILLS; seed++) {
        const random = createSeededRandom(seed);
        if (random() < 0.2) elasticsearch.misbehave({ kind: random() < 0.5 ? 'cut' : 'take-and-vanish' });
        if (random() < 0.2) http.misbehave({ kind: 'status', status: 503 });
        const killAt = 1 + Math.floor(random() * POINTS_MAX);
        const end = await run({ ...plan, seed, killAt, recordsMax: (kills + 1) * RECORDS_PER_KILL });
        expect(end.stderr, `seed ${seed}`).toBe('');
        if (end.signal === 'SIGKILL') kills++;
      }
      const recordsMax = KILLS * RECORDS_PER_KILL;
      const last = await run({ ...plan, seed: 0, killAt: 0, recordsMax });
      expect(JSON.parse(last.stdout)).toEqual({ waiting: [0, 0, 0, 0] });

      const uids = Array.from({ length: recordsMax }, (_, index) => `uid-${String(index).padStart(6, '0')}`);
      expect(toUids(await readRotatedRecords(join(folder, 'records.jsonl')))).toEqual(uids);
      expect(http.violations).toEqual([]);
      expect([...new Set(toUids(http.records()))].toSorted()).toEqual(uids);
      expect(elasticsearch.violations).toEqual([]);
      const ids = elasticsearch.documents().map(({ id }) => id);
      expect(ids.toSorted()).toEqual(uids.filter((uid) => uid !== refused));
      expect((await nats.read('LOGS')).map(({ id }) => id)).toEqual(uids);
      using deadLetters = new DeadLetterStore({ path: folder, now: () => 0 });
      expect(deadLetters.list({ limit: 10 })).toMatchObject([{ sink: 'elasticsearch', uid: refused }]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  300_000,
);

async function run(plan: KilledCouriersPlan) {
  await using program = startProgram(process.execPath, [CHILD, JSON.stringify(plan)]);
  return await program.ended;
}

function toUids(records: readonly Readonly<Record<string, unknown>>[]): string[] {
  return records.map(({ uid }) => String(uid));
}
