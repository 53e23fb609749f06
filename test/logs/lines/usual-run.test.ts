import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { LineRenderer } from '../../../src/logs/lines/line-renderer.ts';
import { LineSplitter } from '../../../src/logs/lines/line-splitter.ts';
import { RecordBuilder, type RecordContext } from '../../../src/logs/lines/record-builder.ts';
import type { ReadingEnd } from '../../../src/logs/lines/waiting-entries.ts';
import { LineMatcher } from '../../../src/logs/matching/line-matcher.ts';
import { createFile, createStreamState, type LogFileDraft } from '../../../src/logs/position/position.ts';
import { createSkewBounds } from '../../../src/logs/time/log-clock.ts';
import { Zone } from '../../../src/logs/time/zone.ts';

const OBSERVED_MS = Date.UTC(2026, 9, 26, 12, 0, 0, 412);
const RULES = [
  { name: 'router_logins_total', pattern: 'user (?P<user>\\w+)', type: 'counter', labels: ['user'] },
  { name: 'router_numbers_total', pattern: '^\\d+$', type: 'counter', labels: [] },
].map((rule) => ({
  help: '',
  components: ['*'],
  fixedLabels: {},
  value: undefined,
  ...rule,
  type: 'counter' as const,
}));
const MATCHERS = {
  none: undefined,
  rules: new LineMatcher(RULES),
  redacting: new LineMatcher(RULES, [
    { pattern: 'password=\\S+', replacement: '[removed]' },
    // What is left may match a rule that the line did not, or need an escape in JSON.
    { pattern: 'secret\\d', replacement: '4711' },
    { pattern: 'token:\\w*', replacement: '"user" user none' },
  ]),
};

/** Around a night in which a clock is set back, and with it the hour that there is twice. */
const stamp = fc
  .tuple(fc.constantFrom(0, 0, 0, 1, 2, 59, 3600, -3, -7200, 86_400, -200_000, 40 * 86_400), fc.boolean())
  .map(([step, isSame]) => (isSame ? 0 : step));
const message = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[ -~]{0,40}$/) },
  fc.constantFrom(
    'user admin logged in',
    '4711',
    'password=secret and more',
    'user admin password=secret5',
    'secret5',
    'token:abc secret7',
    'GET /api/v2_0/status/wan',
    'a "quoted" word',
    'back\\slash',
    'ends with\r',
    'grüße',
    'x'.repeat(400),
    'y'.repeat(5000),
    'says: 2026-10-25 01:00:00 [wan] quoted',
    'broken2026-10-25 01:00:00 [wan] glued',
    '',
  ),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10)).toString('latin1')),
);
const tag = fc.constantFrom(
  '[wan]',
  '[wan]',
  '[lte1]',
  '[]',
  '[wan][WARNING]',
  '[a[b]',
  '[wan',
  `[${'t'.repeat(254)}]`,
  `[${'t'.repeat(255)}]`,
  '[ü]',
);
const form = fc.constantFrom(
  'usual',
  'usual',
  'usual',
  'usual',
  'usual',
  'usual',
  'fraction',
  'T',
  'dotted',
  'none',
  'repeat',
  'empty',
);
const wild = fc.record({ stamp, tag, message, form, gap: fc.constantFrom(' ', ' ', ' ', '') });
const usual = fc.record({
  stamp: fc.constantFrom(0, 0, 1, 3, 60, 600, -2),
  tag: fc.constantFrom('[wan]', '[lte1]', '[firewall]'),
  message: fc.oneof(
    { weight: 4, arbitrary: fc.stringMatching(/^[ !#-Z^-~]{0,60}$/) },
    fc.constantFrom('user admin logged in', '4711', 'password=secret', 'z'.repeat(300)),
  ),
  form: fc.constant('usual'),
  gap: fc.constant(' '),
});
const line = fc.oneof({ weight: 9, arbitrary: usual }, wild);
type Line = typeof line extends fc.Arbitrary<infer T> ? T : never;

function renderLines(lines: readonly Line[]): Buffer {
  let second = Date.UTC(2026, 9, 25, 0, 30) / 1000;
  const texts = lines.map((one) => {
    second += one.stamp;
    const iso = new Date(second * 1000).toISOString();
    const [day, time] = [iso.slice(0, 10), iso.slice(11, 19)];
    const rest = ` ${one.tag}${one.gap}${one.message}`;
    if (one.form === 'fraction') return `${day} ${time}.250${rest}`;
    if (one.form === 'T') return `${day}T${time}${rest}`;
    if (one.form === 'dotted') return `${day.split('-').toReversed().join('.')} ${time}${rest}`;
    if (one.form === 'none') return one.message;
    if (one.form === 'repeat') return `${' '.repeat(16)}- Last output repeated 17 times -`;
    return one.form === 'empty' ? '' : `${day} ${time}${rest}`;
  });
  return Buffer.from(texts.join('\n'), 'latin1');
}

interface Situation {
  readonly zone: string;
  readonly matcher: keyof typeof MATCHERS;
  readonly isInOrder: boolean;
  readonly wasLooked: boolean;
  readonly skips: boolean;
  readonly end: ReadingEnd;
  readonly off: number;
}

function createContext({ zone, matcher, isInOrder, wasLooked, skips }: Situation): RecordContext {
  return {
    router: { name: 'plant-7', labels: { site: 'munich' } },
    component: 'network',
    zone: new Zone(zone === '' ? undefined : zone),
    observedMs: OBSERVED_MS,
    file: 'network/current',
    flags: skips ? ['late'] : [],
    matcher: MATCHERS[matcher]?.of('network'),
    ...(isInOrder && { stream: createStreamState() }),
    ...(wasLooked && { notBeforeMs: Date.UTC(2026, 9, 24), skew: createSkewBounds() }),
    ...(skips && { skipBeforeUtcMs: Date.UTC(2026, 9, 25, 0, 31) }),
  };
}

/** All that comes of a file: with usual lines taken as they stand, or each line on its own. */
function read(bytes: Buffer, cuts: readonly number[], situation: Situation, takesRuns: boolean) {
  const file: LogFileDraft = { ...createFile('ab'.repeat(32), 0), off: situation.off };
  const context = createContext(situation);
  const builder = new RecordBuilder(context, file);
  const splitter = new LineSplitter(file.off);
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  const batches = [];
  for (const [index, place] of places.entries()) {
    const chunk = bytes.subarray(place, places[index + 1]);
    const takeRun = (all: Buffer, from: number, start: number) => builder.takeRun(all, from, start);
    splitter.push(chunk, (raw) => builder.push(raw), takesRuns ? takeRun : undefined);
    file.off = splitter.offset;
    const { records, ...batch } = builder.take(index < places.length - 1 ? 'more' : situation.end);
    batches.push(
      structuredClone({ ...batch, records: [...records], file, stream: builder.stream, skew: context.skew }),
    );
    records.release();
  }
  return batches;
}

const situation: fc.Arbitrary<Situation> = fc.record({
  zone: fc.constantFrom('UTC', 'Europe/Berlin', ''),
  matcher: fc.constantFrom('none', 'rules', 'redacting'),
  isInOrder: fc.boolean(),
  wasLooked: fc.boolean(),
  skips: fc.boolean(),
  end: fc.constantFrom('more', 'open', 'closed'),
  off: fc.constantFrom(0, 4000, 999_900, 36 ** 4 - 100),
});

test('RecordBuilder.takeRun() gives what the lines give one by one, whatever they are and wherever chunks end', () => {
  const taken = vi.spyOn(LineRenderer.prototype, 'renderBytes');
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 20, maxLength: 60 }).map(renderLines),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
      situation,
      (bytes, cuts, about) => {
        expect(read(bytes, cuts, about, true)).toEqual(read(bytes, cuts, about, false));
      },
    ),
    { numRuns: 300 },
  );
  expect(taken.mock.calls.length).toBeGreaterThan(1000);
  taken.mockRestore();
});

test('RecordBuilder.takeRun() takes usual lines, also where rules match, and leaves the others', () => {
  const taken = vi.spyOn(LineRenderer.prototype, 'renderBytes');
  const about: Situation = {
    zone: 'Europe/Berlin',
    matcher: 'redacting',
    isInOrder: true,
    wasLooked: true,
    skips: false,
    end: 'closed',
    off: 0,
  };
  const lineAt = (second: number, text = 'chain wan1 connected') =>
    `2026-10-26 09:00:${String(second).padStart(2, '0')} [wan] ${text}\n`;
  const lines = [10, 11, 12, 13].map((second) => lineAt(second)).join('');
  const [batch] = read(Buffer.from(lines + lineAt(14, 'user admin') + lineAt(15)), [], about, true);
  expect(batch?.lines).toBe(6);
  // The first one shows the day, and the last one waits for lines that continue it.
  expect(taken).toHaveBeenCalledTimes(4);
  expect(batch?.events).toMatchObject([{ type: 'log-rule-matched', labels: { user: 'admin' } }]);
  taken.mockClear();
  read(Buffer.from(lineAt(10) + lineAt(11, 'password=secret') + lineAt(12, 'ü') + lineAt(13, '"')), [], about, true);
  expect(taken).not.toHaveBeenCalled();
  taken.mockRestore();
});

const PLAIN: Situation = {
  zone: 'Europe/Berlin',
  matcher: 'none',
  isInOrder: true,
  wasLooked: false,
  skips: false,
  end: 'closed',
  off: 0,
};

test('RecordBuilder.takeRun() leaves a line in which another one begins where the buffer of the device ends', () => {
  const head = '2026-10-26 09:00:10 [wan] one\n2026-10-26 09:00:11 [wan] two\n';
  const torn = `2026-10-26 09:00:12 [wan] ${'x'.repeat(4096 - head.length - 26)}`;
  const bytes = Buffer.from(`${head}${torn}2026-10-26 09:00:13 [wan] glued\n2026-10-26 09:00:14 [wan] last\n`);
  const [batch, ...more] = read(bytes, [], PLAIN, true);
  expect([batch, ...more]).toEqual(read(bytes, [], PLAIN, false));
  expect(batch?.lines).toBe(5);
});

test.each([
  ['falls back by years', '2010-01-01 09:00:20'],
  ['goes ahead by years', '2036-01-01 09:00:20'],
  ['goes back by a minute', '2026-10-26 08:59:10'],
  ['goes ahead by an hour', '2026-10-26 13:30:00'],
])('RecordBuilder.takeRun() leaves the lines of a clock that %s', (_, time) => {
  // Days differ in the first two: a line of the same day follows.
  const lines = ['2026-10-26 09:00:10', '2026-10-26 09:00:11', time, time.replace(/0$/, '1'), '2026-10-26 09:00:30'];
  const bytes = Buffer.from(lines.map((one, index) => `${one} [wan] line ${index}\n`).join(''));
  for (const zone of ['Europe/Berlin', '']) {
    const about = { ...PLAIN, zone };
    expect(read(bytes, [], about, true)).toEqual(read(bytes, [], about, false));
  }
  expect(read(bytes, [], PLAIN, true)[0]?.events.length).toBeGreaterThan(0);
});
