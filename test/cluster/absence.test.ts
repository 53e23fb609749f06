import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { removeAbsent } from '../../src/cluster/janitor.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { Subjects } from '../../src/cluster/subjects.ts';
import { createClusterBench } from '../support/store-bench.ts';
import { commitOf } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

withPrograms(['nats-server'], test)(
  'removeAbsent() removes what is stored of a router once no replica has known it for as long as it is kept',
  { timeout: 40_000 },
  async () => {
    await using bench = await createClusterBench();
    await using opened = await bench.open({ routers: ['here', 'gone'] });
    const { store } = opened;
    for (const router of ['here', 'gone']) {
      await store.commit(commitOf(['1'], 'p1', 'network', router), { router, facts: 'met' });
      await store.writeValue(router, 'learned', '{}');
    }
    const known = new Set(['here', 'gone']);
    const servers = { servers: [bench.server.url], clock: createSystemClock(), who: 'Test', peer: 'cluster' } as const;
    const link = new ClusterLink(servers, () => {});
    const look = (absenceMs?: number) =>
      removeAbsent({ link, subjects: new Subjects('test'), mayKnow: (router) => known.has(router), absenceMs });
    const listSubjects = async () => {
      const stored = await bench.server.read('RX_test');
      return stored
        .map(({ subject }) => subject.replace('rx.test.', ''))
        .filter((subject) => !subject.startsWith('rec'));
    };
    const all = [
      'pos.here.network',
      'fact.here',
      'val.here.learned',
      'pos.gone.network',
      'fact.gone',
      'val.gone.learned',
    ];

    expect([await look(0), await listSubjects()]).toEqual([[], all]);
    known.delete('gone');
    expect([await look(0), await listSubjects()]).toEqual([[], [...all, 'gone.gone']]);
    // It is kept for a week.
    expect([await look(), await listSubjects()]).toEqual([[], [...all, 'gone.gone']]);
    // A router that comes back is as if it had not been away.
    known.add('gone');
    expect([await look(0), await listSubjects()]).toEqual([[], all]);
    known.delete('gone');
    expect([await look(0), await look(0), await listSubjects()]).toEqual([[], ['gone'], all.slice(0, 3)]);
    // A replica that still has it open is refused, and reads it again.
    await expect(store.commit(commitOf(['2'], 'p2', 'network', 'gone'))).rejects.toMatchObject({ code: 'fenced' });
    await store.openRouter('gone');
    expect(store.readPositions('gone').size).toBe(0);
    await link.close();
  },
);

test('removeAbsent() looks at the logs of thousands of routers in steps, and yields between them', async () => {
  const subjects = new Subjects('test');
  const listed = Array.from({ length: 20_000 }, (_, index) =>
    subjects.of({ kind: 'pos', router: `plant-${index % 2000}`, component: `log ${Math.floor(index / 2000)}` }),
  );
  const link = {
    ask: () => Promise.resolve({ ts: '2026-11-24T00:00:00Z' }),
    publish: () => Promise.reject(new TypeError('Every router is known')),
    readLast: () => Promise.resolve(undefined),
    listSubjects: (_stream: string, filter: string) => Promise.resolve(filter === subjects.states[0] ? listed : []),
  };
  let runs = 0;
  let isOver = false;
  const countTurn = () => {
    runs++;
    if (!isOver) setImmediate(countTurn);
  };
  countTurn();
  expect(await removeAbsent({ link, subjects, mayKnow: () => true })).toEqual([]);
  isOver = true;
  expect(runs).toBeGreaterThan(3);
});
