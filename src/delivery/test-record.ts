import type { Clock } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Router and component of the record with which a preflight tries whether a sink takes records. */
const TEST_ROUTER = 'router-exporter';
const TEST_COMPONENT = 'preflight';

/** The record that a preflight sends. It says what it is, and has a uid of its own for every moment. */
export function createTestRecord(clock: Clock): OutgoingRecord {
  const now = clock.now();
  const observed = new Date(now).toISOString();
  const record: LogRecord = {
    timestamp: `${observed.slice(0, -1)}000000Z`,
    observed_timestamp: observed,
    router: TEST_ROUTER,
    component: TEST_COMPONENT,
    message: 'Test record of router-exporter: it can be deleted',
    uid: `preflight-${now.toString(36)}`,
    file: TEST_COMPONENT,
    offset: 0,
    labels: {},
  };
  return new OutgoingRecord(JSON.stringify(record));
}
