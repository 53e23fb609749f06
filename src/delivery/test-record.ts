import type { Clock } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';
import { OutgoingRecord } from './outgoing-record.ts';

/** Router and component of the test record of a preflight. */
const TEST_ROUTER = 'router-exporter';
const TEST_COMPONENT = 'preflight';

/** Creates the test record of a preflight, marked as such and with a uid derived from the current time. */
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
