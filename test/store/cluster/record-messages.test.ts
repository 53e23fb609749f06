import { expect, test } from 'vitest';
import { LineCondenser } from '../../../src/base/condensed-lines.ts';
import { packBytes, packCondensed, packQuickly } from '../../../src/base/index.ts';
import { toRecordMessages } from '../../../src/store/cluster/record-messages.ts';

test('toRecordMessages() puts into the stream no body that is condensed or not packed at all, because replicas of earlier versions read it', () => {
  const lines = Buffer.from('first\nsecond');
  const condenser = new LineCondenser();
  condenser.addPlain(lines);
  const condensed = packCondensed(condenser.finish());
  const plain = packBytes(lines);
  for (const body of [condensed, packQuickly(['first', 'second']), plain]) {
    const messages = toRecordMessages('rec.a.b', { body, records: 2, committedMs: 7 }, 1000);
    expect(messages.map(({ payload }) => Buffer.from(payload))).toEqual([Buffer.from(plain)]);
  }
});
