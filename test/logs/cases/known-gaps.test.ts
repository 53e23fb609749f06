import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  addKnownGap,
  createRouterFacts,
  parseRouterFacts,
  renderRouterFacts,
  updateSerial,
} from '../../../src/logs/follow/router-facts.ts';
import { type KnownGap, readKnownGaps } from '../../../src/logs/index.ts';
import { gapsOf, MINUTE_MS, openFileBench } from '../../support/log-bench.ts';

/** The last gaps of a router are stored with the facts about it, for the pages of who has the router next. */
const CURRENT = 'network/current';
const LOST = 'network/log-2026-11-21-12:10:00.bz2';
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;

const GAP: KnownGap = {
  uid: 'u',
  component: 'network',
  foundMs: Date.UTC(2026, 10, 21),
  certainty: 'certain',
  reason: 'expired',
  bytesMin: 7,
  untilUtcMs: undefined,
};

/** Facts with these fields, from any version. */
function factsOf(fields: unknown): string {
  const text = JSON.stringify(fields);
  return `${text}\n${crc32(text).toString(16)}`;
}

const factsWith = (gaps: unknown) => factsOf({ ...createRouterFacts(1), gaps });

test('a gap is stored in the commit of its record, and where it ends in that of the line behind it', async () => {
  const files = new Map<string, string | Buffer>([
    ['network/log-2026-11-21-11:30:00', line('12:00:00', 'old')],
    [LOST, 'no archive'],
  ]);
  await using bench = await openFileBench(files);
  const { log } = bench.reader;
  const steps: { readonly events: readonly unknown[]; readonly known: readonly KnownGap[] }[] = [];
  const run = () =>
    bench.reader.run({
      records: {
        readPositions: () => log.readPositions(),
        readFacts: () => log.readFacts(),
        commit: (...all) => {
          const lines = all.flatMap((one) => ('lines' in one ? [...one.lines] : []));
          const events = lines.flatMap((text) => (JSON.parse(text) as { event?: string }).event ?? []);
          const facts = all.find((one) => 'facts' in one)?.facts;
          if (events.length > 0) steps.push({ events, known: readKnownGaps(facts) });
          log.commit(...all);
        },
      },
    });
  await run();
  files.delete(LOST);
  const foundMs = bench.clock.now();
  const [found] = gapsOf(await run());
  const known = { uid: found?.uid, component: 'network', foundMs, certainty: 'certain', reason: 'expired' };
  expect(steps).toMatchObject([{ events: ['log.gap'], known: [known] }]);
  expect(readKnownGaps(log.readFacts())).toEqual([{ ...known, bytesMin: undefined, untilUtcMs: undefined }]);

  await bench.clock.advance(20 * MINUTE_MS);
  files.set(CURRENT, line('13:10:00', 'behind'));
  await run();
  const ended = { ...known, untilUtcMs: Date.UTC(2026, 10, 21, 12, 10) };
  expect(steps.slice(1)).toMatchObject([{ events: ['log.gap_end'], known: [ended] }]);
});

test('facts hold the last ten gaps, the newest first, also when another device answers', () => {
  let gaps: readonly KnownGap[] = [];
  for (let index = 0; index < 12; index++) gaps = addKnownGap(gaps, { ...GAP, uid: `${index}` });
  const stored = readKnownGaps(renderRouterFacts({ ...createRouterFacts(1), gaps }));
  expect(stored.map(({ uid }) => uid)).toEqual(['11', '10', '9', '8', '7', '6', '5', '4', '3', '2']);
  expect(stored[0]).toEqual({ ...GAP, uid: '11' });
  const facts = { ...createRouterFacts(1), serial: 'A', gaps };
  expect([updateSerial(facts, 'B'), facts.gaps]).toEqual([true, gaps]);
  // More than that was not written here.
  expect(readKnownGaps(factsWith(Array.from({ length: 100 }, () => GAP)))).toHaveLength(10);
});

test.for([
  ['no facts', undefined],
  ['facts of a version before there were gaps', renderRouterFacts(createRouterFacts(1))],
  ['facts of a later version', factsOf({ ...createRouterFacts(1), version: 2, gaps: [GAP] })],
  ['damaged facts', `${factsWith([GAP])}0`],
  ['facts that are no object', factsOf(null)],
  ['text that is no JSON', `{\n${crc32('{').toString(16)}`],
  ['gaps that are no list', factsWith({ 0: GAP })],
  ['gaps that are no objects', factsWith([null, 7, 'gap'])],
])('%s tell of no gap', ([, facts]) => {
  expect(readKnownGaps(facts)).toEqual([]);
});

test.for(
  Object.entries({
    uid: [7, undefined],
    component: [null, undefined],
    foundMs: ['2026', 1e300, undefined],
    certainty: ['sure', undefined],
    reason: ['of a later version', 'toString', undefined],
    bytesMin: ['7', 0.5],
    untilUtcMs: ['2026', -1e300],
  }).flatMap(([field, values]) => values.map((value) => [field, value] as const)),
)('a gap whose %s is %s is left out, and no other', ([field, value]) => {
  const facts = factsWith([{ ...GAP, [field]: value }, GAP]);
  expect(readKnownGaps(facts)).toEqual([GAP]);
  expect(parseRouterFacts(facts)?.gaps).toEqual([GAP]);
});

test('a gap is known once, although its step could not be stored and is taken again', () => {
  const gaps = addKnownGap([], GAP);
  expect(addKnownGap(gaps, { ...GAP, foundMs: GAP.foundMs + 1 })).toEqual([{ ...GAP, foundMs: GAP.foundMs + 1 }]);
});
