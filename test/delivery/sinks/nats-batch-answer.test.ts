import { expect, test } from 'vitest';
import { decodeBatchAnswer, readApiCode, readBatchResult } from '../../../src/delivery/sinks/nats/batch-answer.ts';

const decode = (text: string) => decodeBatchAnswer({ data: Buffer.from(text) });
const read = (answer: object) => readBatchResult(decode(JSON.stringify(answer)), 'b1', 10);
const RESULT = { stream: 'LOGS', seq: 7, batch: 'b1', count: 10 };

test.for(['', 'hello', 'null', '7', '{"a":', `{"a":"${'x'.repeat(17_000)}"}`])(
  'decodeBatchAnswer() finds no answer in %j',
  (text) => {
    expect(decode(text)).toBeUndefined();
    expect(readApiCode(decode(text))).toBeUndefined();
  },
);

test('readBatchResult() takes the result of this batch', () => {
  expect(read(RESULT)).toEqual({ taken: 10, stream: 'LOGS' });
  // All of them were repeats.
  expect(read({ ...RESULT, seq: 0 })).toEqual({ taken: 10, stream: 'LOGS' });
  expect(read({ ...RESULT, count: 0 })).toEqual({ taken: 0, stream: 'LOGS' });
});

test.for([
  { ...RESULT, batch: 'b2' },
  { ...RESULT, batch: undefined },
  { ...RESULT, stream: 5 },
  { ...RESULT, count: 11 },
  { ...RESULT, count: -1 },
  { ...RESULT, count: '10' },
  { ...RESULT, error: { code: 400 } },
  {},
  [],
])('readBatchResult() does not take %j for the result', (answer) => {
  expect(read(answer)).toBeUndefined();
});

test('readApiCode() finds the code of the JetStream API', () => {
  expect(readApiCode(decode('{"error":{"code":400,"err_code":10199}}'))).toBe(10_199);
  for (const answer of ['{"error":"x"}', '{"error":{"err_code":"1"}}', '{"error":null}', '{}']) {
    expect(readApiCode(decode(answer))).toBeUndefined();
  }
});
