import { expect, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { openScriptedNatsServer } from '../support/sinks/scripted-nats-server.ts';

const working = () => openScriptedNatsServer(() => ({ name: 'working' }));
const client = { clock: createSystemClock(), who: 'Test', peer: 'cluster' } as const;

test('ClusterLink leaves a server that answers nothing for the next one, and stays at one that answers something', async () => {
  await using hung = await openScriptedNatsServer(() => undefined);
  await using slow = await openScriptedNatsServer((subject) =>
    subject.endsWith('SLOW') ? undefined : { name: 'slow' },
  );
  await using next = await working();
  const left: string[] = [];
  const leaving = new ClusterLink(
    { ...client, servers: [hung.url, next.url] },
    () => {},
    () => left.push('hung'),
  );
  const staying = new ClusterLink(
    { ...client, servers: [slow.url, next.url] },
    () => {},
    () => left.push('slow'),
  );
  await staying.ready();
  const unanswered = [leaving.ask('INFO'), staying.ask('SLOW')].map((one) =>
    expect(one).rejects.toMatchObject({ code: 'unwritable' }),
  );
  expect(await staying.ask('INFO')).toEqual({ name: 'slow' });
  await Promise.all(unanswered);
  expect([await leaving.ask('INFO'), await staying.ask('INFO')]).toEqual([{ name: 'working' }, { name: 'slow' }]);
  expect(left).toEqual(['hung']);
  await Promise.all([leaving.close(), staying.close()]);
});

test('ClusterLink leaves a server that is cut off from the others, if it stays so for some seconds', async () => {
  const error = { code: 503, err_code: 10_008, description: 'JetStream system temporarily unavailable' };
  await using cutOff = await openScriptedNatsServer(() => ({ error }));
  await using next = await working();
  const clock = createSteppedClock(0);
  const link = new ClusterLink({ ...client, clock, servers: [cutOff.url, next.url] }, () => {});
  const refused = { apiCode: 10_008 };
  await expect(link.ask('INFO')).rejects.toMatchObject(refused);
  await expect(link.ask('INFO')).rejects.toMatchObject(refused);
  await clock.advance(3100);
  await expect(link.ask('INFO')).rejects.toMatchObject(refused);
  expect(await advanceUntil(link.ask('INFO'), clock, 10)).toEqual({ name: 'working' });
  await link.close();
});

test('ClusterLink gives what was sent over a slow line time to arrive before it leaves a server', async () => {
  const error = { code: 503, err_code: 10_008, description: 'JetStream system temporarily unavailable' };
  await using busy = await openScriptedNatsServer(() => ({ error }));
  await using next = await working();
  const clock = createSteppedClock(0);
  const link = new ClusterLink({ ...client, clock, servers: [busy.url, next.url] }, () => {});
  const message = { subject: 'rx.test.rec.a.b', payload: Buffer.alloc(1_000_000), words: [] };
  await link.ready();
  link.send(message);
  await clock.advance(4900);
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(link.ask('INFO')).rejects.toMatchObject({ apiCode: 10_008 });
  }
  await clock.advance(200);
  await expect(link.ask('INFO')).rejects.toMatchObject({ apiCode: 10_008 });
  expect(await advanceUntil(link.ask('INFO'), clock, 10)).toEqual({ name: 'working' });
  await link.close();
});

test('ClusterLink takes an answer that it cannot read for no empty list of subjects, and lists only as many as it can hold', async () => {
  const page = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`rx.test.cur.${index}`, 1]));
  await using server = await openScriptedNatsServer((subject) =>
    subject.endsWith('STRANGE') ? [] : { total: 1e9, state: { subjects: page } },
  );
  const link = new ClusterLink({ ...client, servers: [server.url] }, () => {});
  await expect(link.listSubjects('STRANGE', 'rx.test.cur.*')).rejects.toMatchObject({
    code: 'broken',
    message: 'The answer to STREAM.INFO.STRANGE cannot be read: it has 2 bytes',
  });
  await expect(link.listSubjects('LONG', 'rx.test.cur.*', 1000)).rejects.toMatchObject({
    code: 'broken',
    message: expect.stringContaining('LONG has more than 1000 subjects'),
  });
  await link.close();
});
