import { expect, test } from 'vitest';
import { readBatchAnswer } from '../../../src/sinks/types/nats/batches.ts';

const readText = (text: string) => readBatchAnswer({ data: Buffer.from(text) }, 'b1', 10);
const read = (answer: object) => readText(JSON.stringify(answer));
const RESULT = { stream: 'LOGS', seq: 7, batch: 'b1', count: 10 };

test.for(['', 'hello', 'null', '7', '{"a":', `{"a":"${'x'.repeat(17_000)}"}`])(
  'readBatchAnswer() finds no answer in %j',
  (text) => {
    expect(readText(text)).toEqual({ isTaken: false });
  },
);

test('readBatchAnswer() takes the result of this batch', () => {
  expect(read(RESULT)).toEqual({ isTaken: true, stream: 'LOGS' });
  // All of them were repeats.
  expect(read({ ...RESULT, seq: 0 })).toEqual({ isTaken: true, stream: 'LOGS' });
});

test.for([
  { ...RESULT, batch: 'b2' },
  { ...RESULT, batch: undefined },
  { ...RESULT, stream: 5 },
  { ...RESULT, count: 0 },
  { ...RESULT, count: 11 },
  { ...RESULT, count: -1 },
  { ...RESULT, count: '10' },
  { ...RESULT, error: { code: 400 } },
  {},
  [],
])('readBatchAnswer() does not take %j for the result', (answer) => {
  expect(read(answer)).toEqual({ isTaken: false });
});

test('readBatchAnswer() finds the code of the JetStream API', () => {
  expect(readText('{"error":{"code":400,"err_code":10199}}')).toEqual({ isTaken: false, apiCode: 10_199 });
  for (const answer of ['{"error":"x"}', '{"error":{"err_code":"1"}}', '{"error":null}', '{}']) {
    expect(readText(answer)).toEqual({ isTaken: false });
  }
});
