import { openArchivePool } from '../../../src/logs/archive/index.ts';

/** Decodes what comes by stdin and does not close the pool: an idle thread must not keep the process. */
const pool = openArchivePool({ workers: 1 });
let bytes = 0;
for await (const item of pool.decode(process.stdin, { outputBytesMax: 2 ** 30 })) {
  if (item instanceof Uint8Array) bytes += item.length;
}
process.stdout.write(`${bytes}`);
