/**
 * Writes batches to a file sink for ever, each after the one before was taken, and says so on standard output.
 * Arguments: path, number of the first batch, records of a batch, largest size of a file in bytes.
 */
import { createSystemClock } from '../../../src/base/index.ts';
import { createFileSink } from '../../../src/delivery/sinks/file/sink.ts';
import { sampleRecords } from './sample-records.ts';

const [path = '', first = '0', records = '0', bytesMax = '0'] = process.argv.slice(2);
const sink = createFileSink({
  name: 'file',
  batch: { recordsMax: 5000, bytesMax: 1024 * 1024, waitMs: 0 },
  timeoutMs: 30_000,
  path,
  bytesMax: Number(bytesMax),
  ageMs: 0,
  keep: 0,
  compress: 'gzip',
  fsync: 'never',
  clock: createSystemClock(),
});
const { signal } = new AbortController();
for (let batch = Number(first); ; batch++) {
  await sink.deliver(sampleRecords(`b${batch}`, Number(records)), signal);
  process.stdout.write(`taken ${batch}\n`);
}
