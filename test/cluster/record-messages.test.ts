import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { packLines, unpackLines } from '../../src/base/index.ts';
import { toRecordMessages } from '../../src/cluster/record-feed.ts';

const textsOf = (body: Uint8Array) => unpackLines(body).memory.toString().split('\n');

test('toRecordMessages() puts a body into the stream as it is, and parts one that is too large for a message', () => {
  const short = packLines(['first', 'second']);
  const messages = toRecordMessages('rec.a.b', { body: short, records: 2, committedMs: 7 }, 1000);
  expect(messages.map(({ payload }) => payload)).toEqual([short]);
  const lines = Array.from({ length: 40 }, (_, index) => hash('sha512', String(index)));
  const parts = toRecordMessages('rec.a.b', { body: packLines(lines), records: 40, committedMs: 7 }, 1000);
  expect(parts.length).toBeGreaterThan(1);
  for (const { payload } of parts) expect(payload.length).toBeLessThanOrEqual(1000);
  expect(parts.flatMap(({ payload }) => textsOf(payload))).toEqual(lines);
});
