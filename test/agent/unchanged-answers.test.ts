import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RouterReadError } from '../../src/model/index.ts';
import { type DocumentSource, type PollResult, StatusPoller } from '../../src/status/index.ts';
import { toModule } from '../status/shipped-modules.ts';
import { createBench } from './router-recorder-bench.ts';

const SIGNAL = new AbortController().signal;
const STALE_AFTER_MS = 180_000;

const MODULE = toModule('m', {
  resources: [
    {
      path: 'a',
      each: 'list',
      labels: { name: 'name' },
      metrics: [
        { name: 'router_shared', value: 'v' },
        { name: 'router_own', value: 'w' },
      ],
    },
    { path: 'b', each: 'list', labels: { name: 'name' }, metrics: [{ name: 'router_shared', value: 'v' }] },
    {
      path: 'c',
      each: 'unique',
      metrics: [
        { name: 'router_clock_offset_seconds', value: 'time', form: 'clock_offset' },
        { name: 'router_seen_timestamp_seconds', value: 'seen', form: 'date' },
      ],
    },
    {
      path: 'd',
      each: 'list',
      labels: { name: 'name', place: '@v' },
      join: { path: 'e', each: 'list', by: 'name', key: 'name' },
      metrics: [
        { name: 'router_joined', value: 'v' },
        { name: 'router_joined_since_6', value: 'w', when: { firmware: '>=6' } },
      ],
    },
    {
      path: 'f',
      each: 'list',
      labels: { name: 'name' },
      when: { firmware: '<6', board: ['M*'] },
      metrics: [{ name: 'router_before_6', value: 'v' }],
    },
    { path: 'e', each: 'list', labels: { name: 'name' }, metrics: [{ name: 'router_other', value: 'w' }] },
  ],
});

/** A router with its clients: `answers` by path, `undefined` for a resource that it lacks, an error for one that fails. */
function openRig(answers: ReadonlyMap<string, string | undefined | Error>, hasDigests: boolean) {
  const { clock, recorder, poll: record, metrics } = createBench(0, 'active', { labels: { site: 'munich' } });
  const source: DocumentSource = {
    async readDocument(path, _signal, known) {
      const answer = answers.get(path);
      if (answer instanceof Error) throw answer;
      if (answer === undefined) {
        throw new RouterReadError('http', 'not found', { disposition: 'skip', status: 404, isAnswered: true });
      }
      const digest = hasDigests ? hash('sha256', answer, 'base64') : undefined;
      return { digest, body: digest !== undefined && digest === known ? undefined : (JSON.parse(answer) as unknown) };
    },
  };
  const poller = new StatusPoller({
    modules: [MODULE],
    source,
    clock,
    intervalMs: 60_000,
    deadlineMs: 45_000,
    staleAfterMs: STALE_AFTER_MS,
    zone: 'Europe/Berlin',
  });
  return {
    async poll(afterMs: number): Promise<PollResult> {
      await clock.advance(afterMs);
      const result = await poller.pollOnce(SIGNAL, { holdsValues: (resource) => recorder.holdsValues(resource) });
      record(result);
      return result;
    },
    /** The series, in an order of their own: that of resources within a family is of no meaning. */
    lines: () => metrics().split('\n').toSorted(),
  };
}

const rows = fc
  .array(fc.record({ name: fc.constantFrom('x', 'y', 'z'), v: fc.constantFrom('1', '2', 'on'), w: fc.constant('3') }), {
    maxLength: 3,
  })
  .map((list) => JSON.stringify({ list }));
/** Three times the size that a router may have. */
const manyRows = fc
  .constantFrom(900, 2000)
  .map((length) =>
    JSON.stringify({ list: Array.from({ length }, (_, index) => ({ name: `n${index}`, v: '1', w: '1' })) }),
  );
const dates = fc
  .record({
    time: fc.constantFrom('2026-11-21 09:00:00', '2026-11-21T08:00:00Z', 'never'),
    // The second has no year, the third happens twice.
    seen: fc.constantFrom('2026-01-01 00:00:00', 'Dec 31 23:59:00', '2026-10-25 02:30:00'),
  })
  .map((unique) => JSON.stringify({ unique }));
const devices = fc
  .record({ firmware_version: fc.constantFrom('5.5', '6.0', '---'), board_type: fc.constantFrom('MRX', 'ECR') })
  .map((board) => JSON.stringify({ status: { list: [board] } }));
const failing = fc.constantFrom<string | undefined | Error>(
  undefined,
  new RouterReadError('http', 'broken', { disposition: 'retry', status: 500, isAnswered: true }),
);
/** Mostly what was answered before. */
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ path: fc.constantFrom('a', 'b', 'd', 'e', 'f'), answer: rows }) },
  { weight: 3, arbitrary: fc.record({ path: fc.constant('e'), answer: rows }) },
  { weight: 2, arbitrary: fc.record({ path: fc.constant('device_info'), answer: devices }) },
  { weight: 1, arbitrary: fc.record({ path: fc.constantFrom('a', 'b'), answer: manyRows }) },
  { weight: 2, arbitrary: fc.record({ path: fc.constant('c'), answer: dates }) },
  {
    weight: 2,
    arbitrary: fc.record({ path: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'device_info'), answer: failing }),
  },
  { weight: 4, arbitrary: fc.constant(undefined) },
);
const story = fc.array(fc.record({ change, afterMs: fc.constantFrom(60_000, 300_000, 86_400_000) }), { maxLength: 14 });

test('series are the same whether unchanged answers are mapped or not, whatever a router answers', async () => {
  let unchanged = 0;
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const answers = new Map<string, string | undefined | Error>([
        ['a', '{"list":[{"name":"x","v":"1","w":"3"}]}'],
        ['b', '{"list":[]}'],
        ['c', '{"unique":{"time":"2026-11-21 09:00:00","seen":"2026-01-01 00:00:00"}}'],
        ['d', '{"list":[{"name":"x","v":"1","w":"3"},{"name":"y","v":"2","w":"3"}]}'],
        ['e', '{"list":[{"name":"x","v":"hall","w":"1"}]}'],
        ['f', '{"list":[{"name":"x","v":"1"}]}'],
        ['device_info', '{"status":{"list":[{"firmware_version":"5.5","board_type":"MRX"}]}}'],
      ]);
      const [mapped, held] = [openRig(answers, false), openRig(answers, true)];
      for (const { change: changed, afterMs } of steps) {
        if (changed) answers.set(changed.path, changed.answer);
        await mapped.poll(afterMs);
        const { resources } = await held.poll(afterMs);
        unchanged += resources.filter(({ isUnchanged }) => isUnchanged).length;
        expect(held.lines()).toEqual(mapped.lines());
      }
    }),
    { numRuns: 60, seed: 1 },
  );
  expect(unchanged).toBeGreaterThan(50);
});

test.for([
  ['the clock of the router', { time: '2026-11-21 09:00:00', seen: 'never' }, false],
  ['a date without a year', { time: 'never', seen: 'Dec 31 23:59:00' }, false],
  ['an hour that happens twice', { time: 'never', seen: '2026-10-25 02:30:00' }, false],
  ['a date with one meaning', { time: 'never', seen: '2026-01-01 00:00:00' }, true],
] as const)('an unchanged answer with %s is mapped only if it depends on the time', async ([, unique, isUnchanged]) => {
  const rig = openRig(new Map([['c', JSON.stringify({ unique })]]), true);
  await rig.poll(0);
  const { resources } = await rig.poll(60_000);
  expect(resources.find(({ name }) => name === 'c')).toMatchObject({ state: 'read', isUnchanged });
});

test('an unchanged answer is mapped when some of its series were left out', async () => {
  const row = { name: 'x', v: '1', w: '1' };
  const answers = new Map<string, string>([
    ['a', JSON.stringify({ list: [row] })],
    ['b', JSON.stringify({ list: [row] })],
  ]);
  const rig = openRig(answers, true);
  await rig.poll(0);
  const { resources } = await rig.poll(60_000);
  expect(resources.filter(({ state }) => state === 'read').map(({ name, isUnchanged }) => [name, isUnchanged])).toEqual(
    [
      ['a', true],
      ['b', false],
    ],
  );
});

test('an unchanged answer is mapped when the rows that it is joined with have changed, and only then', async () => {
  const row = { name: 'x', v: '1', w: '1' };
  const answers = new Map<string, string | undefined>([
    ['d', JSON.stringify({ list: [row] })],
    ['e', JSON.stringify({ list: [{ ...row, v: 'hall' }] })],
    ['device_info', '{"status":{"list":[{"firmware_version":"6.1"}]}}'],
  ]);
  const rig = openRig(answers, true);
  const pollJoined = async () => {
    const { resources } = await rig.poll(60_000);
    const [joined] = rig.lines().filter((line) => line.startsWith('router_joined{'));
    return [resources.find(({ name }) => name === 'd')?.isUnchanged, joined];
  };
  const inPlace = (place: string) => `router_joined{router="plant-7",site="munich",name="x"${place}} 1`;
  expect(await pollJoined()).toEqual([false, inPlace(',place="hall"')]);
  expect(await pollJoined()).toEqual([true, inPlace(',place="hall"')]);
  answers.set('e', JSON.stringify({ list: [{ ...row, v: 'cellar' }] }));
  expect(await pollJoined()).toEqual([false, inPlace(',place="cellar"')]);
  expect(await pollJoined()).toEqual([true, inPlace(',place="cellar"')]);
  // Rows of a resource that is gone are gone when its values are.
  answers.set('e', undefined);
  expect(await pollJoined()).toEqual([true, inPlace(',place="cellar"')]);
  await rig.poll(STALE_AFTER_MS);
  expect(await pollJoined()).toEqual([true, inPlace('')]);
});

test('values of a resource that the router lacked for a while come back with the same answer', async () => {
  const answers = new Map<string, string | undefined>([
    ['a', '{"list":[{"name":"x","v":"1","w":"3"}]}'],
    ['b', '{"list":[]}'],
  ]);
  const rig = openRig(answers, true);
  await rig.poll(0);
  answers.set('a', undefined);
  // For an hour, it may come back.
  for (let minute = 0; minute < 70; minute++) await rig.poll(60_000);
  expect(rig.lines().join('\n')).not.toContain('router_own{');
  answers.set('a', '{"list":[{"name":"x","v":"1","w":"3"}]}');
  await rig.poll(7 * 86_400_000);
  expect(rig.lines()).toContain('router_own{router="plant-7",site="munich",name="x"} 3');
});
