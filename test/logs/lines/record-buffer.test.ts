import { expect, test } from 'vitest';
import { unpackLines } from '../../../src/base/index.ts';
import { RecordBuffer } from '../../../src/logs/lines/record-buffer.ts';

function fill(...records: readonly string[]): RecordBuffer {
  const buffer = new RecordBuffer();
  for (const record of records) buffer.push(record);
  return buffer;
}

function textOf(buffer: RecordBuffer): string {
  return Buffer.from(buffer.bytes).toString('utf8');
}

test('RecordBuffer gives records as strings, and as bytes with a line feed between two', () => {
  const buffer = fill('{"a":1}', '{"straße":"東京"}', '{}');
  expect(buffer).toHaveLength(3);
  expect([...buffer]).toEqual(['{"a":1}', '{"straße":"東京"}', '{}']);
  expect(textOf(buffer)).toBe('{"a":1}\n{"straße":"東京"}\n{}');
});

test('RecordBuffer holds nothing at first', () => {
  const buffer = new RecordBuffer();
  expect(buffer).toHaveLength(0);
  expect([...buffer]).toEqual([]);
  expect(buffer.bytes).toHaveLength(0);
});

test('RecordBuffer keeps what it holds when it grows', () => {
  const records = Array.from({ length: 2000 }, (_, index) => `{"n":"${'ü'.repeat(index % 97)}${index}"}`);
  records.push(`{"long":"${'東'.repeat(300_000)}"}`);
  expect([...fill(...records)]).toEqual(records);
});

test('RecordBuffer uses memory again that was released, and never that of a buffer in use', () => {
  const first = fill('{"first":1}');
  const { buffer: memory } = first.bytes;
  first.release();
  expect([...first]).toEqual([]);
  const second = fill('{"second":2}');
  expect(second.bytes.buffer).toBe(memory);
  first.push('{"again":1}');
  const third = fill('{"third":3}');
  expect([first, second, third].map(textOf)).toEqual(['{"again":1}', '{"second":2}', '{"third":3}']);
  first.release();
  first.release();
  const [fourth, fifth] = [fill('4'), fill('5')];
  expect([fourth, fifth].map(textOf)).toEqual(['4', '5']);
  fourth.release();
  const long = 'x'.repeat(100_000);
  expect([...fill(long)]).toEqual([long]);
});

test('RecordBuffer knows how its records are packed until one is added, and gives their memory back once', () => {
  const freed: ArrayBufferLike[] = [];
  const memory = new Uint8Array(Buffer.from('{"a":1}\n{"b":2}...'));
  const packed = new Uint8Array(4);
  const create = () =>
    RecordBuffer.of(memory, { bytes: 15, length: 2, packed, onRelease: (given) => freed.push(given) });
  const records = create();
  expect([...records]).toEqual(['{"a":1}', '{"b":2}']);
  expect(records.packed).toBe(packed);
  records.release();
  expect(records).toHaveLength(0);
  expect(records.packed).toBeUndefined();
  expect(freed).toEqual([memory.buffer]);
  const longer = create();
  longer.push('{}');
  expect(longer.packed).toBeUndefined();
});

/** Takes all memory that earlier tests have given back. */
const useUpMemory = () => [1, 2, 3, 4].map(() => fill('{}'));

test('RecordBuffer gives records away, and uses their memory again only when the new owner has freed it', () => {
  useUpMemory();
  const record = `{"long":"${'東'.repeat(20_000)}"}`;
  const first = fill(record);
  const given = first.giveAway();
  expect(given.bytes.toString()).toBe(record);
  expect(given.bytes.buffer).toBe(first.bytes.buffer);
  expect(first).toHaveLength(1);
  first.release();
  const second = fill('{"second":2}');
  expect(second.bytes.buffer).not.toBe(given.bytes.buffer);
  expect(given.bytes.toString()).toBe(record);
  given.free();
  expect(fill('{"third":3}').bytes.buffer).toBe(given.bytes.buffer);
});

test('RecordBuffer gives few records away in memory of their size, and goes on with its own', () => {
  useUpMemory();
  const buffer = fill('{"a":1}', '{"b":2}');
  const { buffer: memory } = buffer.bytes;
  const { bytes, free } = buffer.giveAway();
  expect(bytes.toString()).toBe('{"a":1}\n{"b":2}');
  expect(bytes.buffer.byteLength).toBe(15);
  buffer.release();
  free();
  const next = fill('{"c":3}');
  expect(next.bytes.buffer).toBe(memory);
  expect(bytes.toString()).toBe('{"a":1}\n{"b":2}');
});

test('RecordBuffer tells the thread that rendered its records when they are freed', () => {
  const freed: ArrayBufferLike[] = [];
  const memory = new Uint8Array(Buffer.from('{"a":1}'));
  const onRelease = (given: ArrayBufferLike) => freed.push(given);
  const records = RecordBuffer.of(memory, { bytes: 7, length: 1, packed: new Uint8Array(4), onRelease });
  const { free } = records.giveAway();
  records.release();
  expect(freed).toEqual([]);
  free();
  expect(freed).toEqual([memory.buffer]);
});

test('RecordBuffer packs what was added since it was emptied, and nothing of before', () => {
  const buffer = new RecordBuffer(true);
  const [head, tail] = [Buffer.from('YYYY-MM-DDThh:mm:ss.NNNNNNNNN '), Buffer.from(' 0000 000000')];
  const record = Buffer.from('2026-11-26T00:00:07.000000042 text 0016 000042');
  buffer.append(record, {
    count: 1,
    bytes: record.length + 1,
    entries: Buffer.from([0, 7, 20, ...Buffer.from('text\n')]),
    heads: [head],
    timeAt: 0,
    time: Buffer.from('2026-11-26Thh:mm:ss.000000000'),
    showsOffset: true,
    tail,
    uidEnd: 5,
    offsetEnd: 12,
    low36: 42,
    low: 42,
    second: 0,
    slack: 0,
  });
  expect(unpackLines(buffer.pack()).memory.toString()).toBe(record.toString());
  buffer.release();
  buffer.push('{}');
  expect(unpackLines(buffer.pack()).memory.toString()).toBe('{}');
});
