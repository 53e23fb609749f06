import type { LogRecord } from '../../../src/model/index.ts';
import { OutgoingRecord } from '../../../src/sinks/index.ts';

/** A record as the agent stores it. */
export function sampleRecord(uid: string, fields: Partial<LogRecord> = {}): OutgoingRecord {
  const record: LogRecord = {
    timestamp: '2025-10-26T00:59:58.000018231Z',
    observed_timestamp: '2025-10-26T01:00:31.412Z',
    router: 'plant-7',
    component: 'network',
    tag: 'wan',
    message: `message of ${uid}`,
    uid,
    file: 'network/current',
    offset: 18231,
    labels: { site: 'munich' },
    ...fields,
  };
  return new OutgoingRecord(JSON.stringify(record));
}

/** Records with the uids `<prefix>-0`, `<prefix>-1`, … */
export function sampleRecords(prefix: string, count: number, fields: Partial<LogRecord> = {}): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) => sampleRecord(`${prefix}-${index}`, fields));
}
