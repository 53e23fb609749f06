import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderUid } from '../../../src/logs/position/identity.ts';
import { LineRenderer, type PlainLine } from '../../../src/logs/records/fast-path.ts';
import { RecordBuffer, RecordFrame, renderEntry } from '../../../src/logs/records/record-batch.ts';
import { renderTimestamp } from '../../../src/logs/time/stamp.ts';
import type { RecordFlag } from '../../../src/model/index.ts';

const OBSERVED_MS = Date.UTC(2026, 10, 21, 12, 0, 0, 412);
const FILE = 'network/log-2026-11-21-12:00:00.bz2';
const PREFIX = 'jlcs53nw45cduak3';

type ValueOf<T> = T extends fc.Arbitrary<infer V> ? V : never;

/** Around the places where offsets get another digit or another high half, and where time has no more room for them. */
const EDGES = [0, 10, 1_000_000, 36 ** 4, 36 ** 5, 2 ** 31, 499_999_999, 500_000_000, 10_000_000, 36 ** 8];
const offset = fc.oneof(
  fc.nat(2 ** 31),
  fc.tuple(fc.constantFrom(...EDGES), fc.integer({ min: -3, max: 3 })).map(([edge, by]) => Math.max(0, edge + by)),
);
const plain = fc.stringMatching(/^[ !#-[^-~]*$/);
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('a "b"', '\\', '\t', '\u007f', '\n'),
);
const flags = fc.constantFrom<readonly RecordFlag[]>([], ['fold'], ['zone_assumed']);
const moment = fc.record({
  // The same minute again and again, and any other.
  utcMs: fc
    .oneof(fc.integer({ min: 29_000_000 * 60, max: 29_000_000 * 60 + 130 }), fc.nat(4_000_000_000))
    .map((second) => second * 1000),
  isFirstSecond: fc.boolean(),
  flags,
});
const line = fc.record({
  start: offset,
  tag: fc.oneof(fc.constantFrom('wan', 'lte1'), plain),
  message: plain,
  /** What is left of the message where something was removed. */
  redacted: fc.option(text, { nil: undefined }),
});

/** A line as it is found in a chunk. */
function toPlainLine(renderer: LineRenderer, { start, tag, message, redacted }: ValueOf<typeof line>): PlainLine {
  const bytes = Buffer.from(`${tag}]${message}`);
  const head = renderer.findTag(bytes, 0, bytes.length);
  if (!head) throw new TypeError('No tag');
  return { bytes, start, tag: head, messageFrom: tag.length + 1, messageTo: bytes.length, redacted };
}

test('LineRenderer gives the bytes that renderEntry gives, whatever the lines before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(moment, fc.array(line, { maxLength: 4 }))),
      flags,
      fc.constantFrom({}, { site: 'münchen' }),
      (moments, always, labels) => {
        const frame = new RecordFrame('plant-"7"', 'network', labels);
        const options = { observedMs: OBSERVED_MS, frame, file: FILE, uidPrefix: PREFIX, flags: always };
        const renderer = new LineRenderer(options);
        const records = new RecordBuffer();
        const expected: string[] = [];
        for (const [now, lines] of moments) {
          for (const usual of lines) {
            renderer.render(toPlainLine(renderer, usual), now, records);
            const timestamp = renderTimestamp(now.utcMs, false, usual.start, now.isFirstSecond);
            const about = {
              uid: renderUid(PREFIX, usual.start),
              file: FILE,
              end: 0,
              observedMs: OBSERVED_MS,
              timestamp,
            };
            const rest = {
              lines: 1,
              needsOriginal: false,
              original: undefined,
              details: undefined,
              severity: undefined,
            };
            const message = usual.redacted ?? usual.message;
            expected.push(
              renderEntry({ ...usual, ...about, ...rest, message, flags: [...always, ...now.flags] }, frame),
            );
          }
        }
        expect(records).toHaveLength(expected.length);
        expect([...records].join('\n')).toBe(expected.join('\n'));
      },
    ),
    { numRuns: 500 },
  );
});

test('LineRenderer renders more tags than it remembers', () => {
  const frame = new RecordFrame('plant-7', 'network', {});
  const renderer = new LineRenderer({ observedMs: OBSERVED_MS, frame, file: FILE, uidPrefix: PREFIX, flags: [] });
  const records = new RecordBuffer();
  const now = { utcMs: 0, isFirstSecond: false, flags: [] };
  const tags = Array.from({ length: 2500 }, (_, index) => `tag${index % 1700}`);
  for (const tag of tags) {
    renderer.render(toPlainLine(renderer, { start: 7, tag, message: 'm', redacted: undefined }), now, records);
  }
  expect([...records].map((json) => (JSON.parse(json) as { tag: string }).tag)).toEqual(tags);
});
