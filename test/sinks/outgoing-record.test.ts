import { expect, test, vi } from 'vitest';
import { cutLines } from '../../src/base/index.ts';
import { OutgoingRecord } from '../../src/sinks/index.ts';

const toLine = (record: object) => JSON.stringify({ observed_timestamp: 'o', router: 'r', component: 'c', ...record });

test.each([
  [{ message: 'x', uid: 'abc-00000001', file: 'f', offset: 1 }],
  [{ message: ',"uid":"no', uid: 'abc-00000002', file: 'f', offset: 1, labels: { uid: 'no' } }],
  [{ tag: '","uid":"no', message: 'ends with ,', uid: 'abc-00000003', file: ',"uid":"', offset: 1 }],
  [{ message: '\\', uid: 'abc-00000004', file: 'f', offset: 1, details: { uid: 'no' } }],
])('OutgoingRecord.uid is that of the fields, whatever other texts hold: %j', (record) => {
  const parse = vi.spyOn(JSON, 'parse');
  const line = toLine(record);
  const [, middle] = cutLines(Buffer.from([toLine({ uid: 'before' }), line, toLine({ uid: 'behind' })].join('\n')));
  if (!middle) throw new TypeError('There is no line');
  const outgoing = new OutgoingRecord(middle);
  expect(outgoing.uid).toBe(record.uid);
  expect(parse).not.toHaveBeenCalled();
  expect(outgoing.line).toBe(line);
  expect(outgoing.fields.uid).toBe(record.uid);
  parse.mockRestore();
});

test('OutgoingRecord.uid is found in JSON of any form', () => {
  const spaced = new OutgoingRecord('{ "uid": "abc-00000001", "message": "x" }');
  expect(spaced.uid).toBe('abc-00000001');
  const first = new OutgoingRecord('{"uid":"abc-00000002","message":"x"}');
  expect(first.uid).toBe('abc-00000002');
  const [one] = cutLines(Buffer.from(`{"uid":"abc-00000003"}\n${toLine({ uid: 'other' })}`));
  expect(one && new OutgoingRecord(one).uid).toBe('abc-00000003');
});
