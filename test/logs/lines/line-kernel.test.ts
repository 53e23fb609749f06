import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LineKernel, leaveLineKernel, useLineKernel } from '../../../src/logs/lines/line-kernel.ts';
import { countRuns } from '../../support/sampled.ts';
import { LITERALS_IN_ORDER, line, read, renderLines, type Situation, situation, usual } from './random-lines.ts';

beforeEach(() => {
  leaveLineKernel();
});
afterEach(() => {
  vi.restoreAllMocks();
  leaveLineKernel();
});

/** What comes of a file with the kernel and without, and how many lines the kernel took. */
function readBoth(bytes: Buffer, cuts: readonly number[], about: Situation) {
  leaveLineKernel();
  const without = read(bytes, cuts, about, true);
  useLineKernel();
  const render = vi.spyOn(LineKernel.prototype, 'render');
  const withKernel = read(bytes, cuts, about, true);
  const taken = render.mock.results.reduce((sum, { value }) => sum + (value?.run.count ?? 0), 0);
  render.mockRestore();
  return { without, withKernel, taken };
}

/** Offsets around which their digits change; before the first one the kernel takes nothing. */
const off = fc.constantFrom(100_000, 999_000, 36 ** 4 - 1500, 4_095_000, 499_999_000, 5_000_000_000);

test('LineKernel renders what the threads without it do, whatever the lines are and wherever chunks end', () => {
  let lines = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 30, arbitrary: usual }, line), { minLength: 40, maxLength: 120 }).map(renderLines),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 2 }),
      situation,
      off,
      (bytes, cuts, about, from) => {
        const { without, withKernel, taken } = readBoth(bytes, cuts, { ...about, off: from });
        lines += taken;
        expect(withKernel).toEqual(without);
      },
    ),
    { numRuns: countRuns(1500) },
  );
  // Twelve short runs counted 311 to 915.
  expect(lines).toBeGreaterThan(100);
});

const SECONDS = 3600;

/** Lines of one tag, one each second. */
function createLines(count: number, text: (index: number) => string): Buffer {
  const lines = Array.from({ length: count }, (_, index) => {
    const time = new Date(Date.UTC(2026, 9, 20, 9) + (index % SECONDS) * 1000).toISOString();
    return `${time.slice(0, 10)} ${time.slice(11, 19)} [wan] ${text(index)}\n`;
  });
  return Buffer.from(lines.join(''));
}

test('LineKernel takes nearly all of a chunk of usual lines, also where they match a rule', () => {
  const bytes = createLines(500, (index) => (index % 3 === 0 ? 'user admin logged in' : `chain wan${index} connected`));
  const { without, withKernel, taken } = readBoth(bytes, [], LITERALS_IN_ORDER);
  expect(withKernel).toEqual(without);
  expect(taken).toBeGreaterThan(480);
  expect(withKernel[0]?.events).toMatchObject([
    { metric: 'router_logins_total', labels: { user: 'admin' }, value: 167 },
    { metric: 'router_ends_total', value: 167 },
  ]);
});

test('LineKernel leaves a chunk to others in which every other line is unusual', () => {
  const bytes = createLines(500, (index) => (index % 2 === 0 ? 'says "no"' : 'connected'));
  const { without, withKernel, taken } = readBoth(bytes, [], LITERALS_IN_ORDER);
  expect(withKernel).toEqual(without);
  expect(taken).toBeLessThan(40);
});

test('LineKernel takes long lines up to the bound, and more records than its memory holds at a time', () => {
  const bytes = createLines(12, (index) => 'x'.repeat(index === 5 ? 66_000 : 5000 + index));
  const { without, withKernel } = readBoth(bytes, [], LITERALS_IN_ORDER);
  expect(withKernel).toEqual(without);
  const short = createLines(3000, () => 'short');
  const { without: all, withKernel: same, taken } = readBoth(short, [], LITERALS_IN_ORDER);
  expect(same).toEqual(all);
  expect(taken).toBeGreaterThan(2900);
});

/** A line among usual ones, in the second that they have reached. */
function amongUsual(odd: string | Buffer): Buffer {
  const before = createLines(40, (index) => `chain wan${index} connected`);
  const after = createLines(80, (index) => `chain wan${index} connected`).subarray(before.length);
  return Buffer.concat([before, Buffer.from(odd), after]);
}

test.each([
  ['a severity', '2026-10-20 09:00:39 [wan][WARNING] low\n'],
  ['no tag', '2026-10-20 09:00:39 low\n'],
  ['an open tag', '2026-10-20 09:00:39 [wan low\n'],
  ['an empty tag', '2026-10-20 09:00:39 [] low\n'],
  ['a tag with a bracket', '2026-10-20 09:00:39 [a[b] low\n'],
  ['a long tag', `2026-10-20 09:00:39 [${'t'.repeat(200)}] low\n`],
  ['an empty message', '2026-10-20 09:00:39 [wan]\n'],
  ['no blank', '2026-10-20 09:00:39 [wan]low\n'],
  ['two blanks', '2026-10-20 09:00:39 [wan]  low\n'],
  ['a fraction', '2026-10-20 09:00:39.250 [wan] low\n'],
  ['an impossible hour', '2026-10-20 24:00:39 [wan] low\n'],
  ['an impossible minute', '2026-10-20 08:60:39 [wan] low\n'],
  ['an impossible second', '2026-10-20 09:00:60 [wan] low\n'],
  ['letters for digits', '2026-10-20 09:0a:39 [wan] low\n'],
  ['other signs in its clock', '2026-10-20 09.00.39 [wan] low\n'],
  ['the day before', '2026-10-19 09:00:39 [wan] low\n'],
  ['the day after', '2026-10-21 09:00:39 [wan] low\n'],
  ['another hour', '2026-10-20 17:00:39 [wan] low\n'],
  ['a time 5 s before', '2026-10-20 09:00:34 [wan] low\n'],
  ['a time 6 s before', '2026-10-20 09:00:33 [wan] low\n'],
  ['a minute before', '2026-10-20 08:59:39 [wan] low\n'],
  ['a continuation', '  and more\n'],
  ['a notice of repeats', `${' '.repeat(16)}- Last output repeated 17 times -\n`],
  ['a request of this program', '2026-10-20 09:00:39 [web] GET /api/v2_0/download/log 200\n'],
  ['nothing', '\n'],
])('LineKernel leaves a line with %s to others, or renders it as they do', (_, odd) => {
  const bytes = amongUsual(odd);
  for (const cuts of [[], [0.5]]) {
    const { without, withKernel, taken } = readBoth(bytes, cuts, LITERALS_IN_ORDER);
    expect(withKernel).toEqual(without);
    expect(taken).toBeGreaterThan(30);
  }
});

test('LineKernel takes no line without a tag for one of a tag that has the same hash', () => {
  const before = createLines(40, (index) => `chain wan${index} connected`);
  const [firewall, empty] = ['firewall', ''].map((tag) => `2026-10-20 09:00:39 [${tag}] low\n`.repeat(20));
  const bytes = Buffer.concat([before, Buffer.from(`${firewall}${empty}${firewall}`)]);
  const { without, withKernel, taken } = readBoth(bytes, [], LITERALS_IN_ORDER);
  expect(withKernel).toEqual(without);
  expect(taken).toBeGreaterThan(30);
});

test('LineKernel renders a message with any byte as the others do', () => {
  const lines = Array.from({ length: 256 }, (_, byte) => {
    const message = Buffer.alloc(41, 'm');
    message[[0, 15, 16, 40][byte % 4] ?? 0] = byte;
    return amongUsual(Buffer.concat([Buffer.from('2026-10-20 09:00:39 [wan] '), message, Buffer.from('\n')]));
  });
  for (let from = 0; from < 256; from += 16) {
    const { without, withKernel } = readBoth(Buffer.concat(lines.slice(from, from + 16)), [], LITERALS_IN_ORDER);
    expect(withKernel).toEqual(without);
  }
});

test('LineKernel leaves a line in which the next one begins, where a buffer of the device ends', () => {
  const before = createLines(40, (index) => `chain wan${index} connected`);
  const head = '2026-10-20 09:00:39 [wan] ';
  const end = Math.ceil((LITERALS_IN_ORDER.off + before.length + head.length) / 4096) * 4096;
  const torn = head + 'x'.repeat(end - LITERALS_IN_ORDER.off - before.length - head.length);
  const odd = `${torn}2026-10-20 09:00:39 [wan] glued\n`;
  const { without, withKernel } = readBoth(amongUsual(odd), [], LITERALS_IN_ORDER);
  expect(withKernel).toEqual(without);
  expect(withKernel[0]?.records.filter((record) => record.includes('"glued"'))).toHaveLength(2);
});
