import { expect, test } from 'vitest';
import { RecordBuffer } from '../../../src/logs/records/record-batch.ts';

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

test('RecordBuffer knows how its records are packed until one is added', () => {
  const memory = new Uint8Array(Buffer.from('{"a":1}\n{"b":2}...'));
  const packed = new Uint8Array(4);
  const records = RecordBuffer.of(memory, 15, 2, packed);
  expect([...records]).toEqual(['{"a":1}', '{"b":2}']);
  expect(records.packed).toBe(packed);
  records.push('{}');
  expect([...records]).toEqual(['{"a":1}', '{"b":2}', '{}']);
  expect(records.packed).toBeUndefined();
});

test('RecordBuffer gives its memory with the records at its beginning, and none of others', () => {
  const records = fill('{"a":1}', '{"b":2}');
  const { memory } = records;
  expect(memory.subarray(0, records.bytes.length).toString()).toBe('{"a":1}\n{"b":2}');
  expect(memory.byteOffset).toBe(0);
  expect(memory.buffer.byteLength).toBe(memory.length);
  const none = new RecordBuffer().memory;
  expect(none.buffer.byteLength).toBe(0);
});
