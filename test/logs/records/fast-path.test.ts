import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { LineRenderer } from '../../../src/logs/records/fast-path.ts';
import { line, read, renderLines, type Situation, situation } from './random-lines.ts';

test('RecordBuilder.takeRun() gives what the lines give one by one, whatever they are and wherever chunks end', () => {
  const taken = vi.spyOn(LineRenderer.prototype, 'render');
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

test('RecordBuilder.takeRun() takes lines of the fast path, also where rules match, and leaves the others', () => {
  const taken = vi.spyOn(LineRenderer.prototype, 'render');
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
  read(Buffer.from(lineAt(10) + lineAt(11, 'ü') + lineAt(12) + lineAt(13, '"')), [], about, true);
  expect(taken).toHaveBeenCalledTimes(1);
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
