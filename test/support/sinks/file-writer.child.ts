/**
 * Writes batches to a file sink for ever, each after the one before was taken, and says so on standard output.
 * Arguments: path, number of the first batch, records of a batch, largest size of a file in bytes.
 */
import { createSystemClock } from '../../../src/base/index.ts';
import { createTestSink } from './create-sink.ts';
import { sampleRecords } from './sample-records.ts';

const [path = '', first = '0', records = '0', bytesMax = '0'] = process.argv.slice(2);
const keys = { path, compress: 'gzip', keep: 10_000, fsync: 'never' };
const sink = createTestSink('file', keys, { max_size: Number(bytesMax), clock: createSystemClock() });
const { signal } = new AbortController();
for (let batch = Number(first); ; batch++) {
  await sink.deliver(sampleRecords(`b${batch}`, Number(records)), signal);
  process.stdout.write(`taken ${batch}\n`);
}
