import { openArchivePool } from '../../../src/logs/archive/archive-pool.ts';

/** Reads what comes by stdin and does not close the pool: an idle thread must not keep the process. */
const pool = openArchivePool({ workers: 1 });
const { result } = await pool.read(
  process.stdin,
  {
    name: 'network/log-2026-11-21-11:00:00.bz2',
    candidates: [],
    acceptsNew: true,
    isClosed: true,
    endMs: 0,
    batchBytes: 1000,
    begin: () => undefined,
    onBatch: () => {},
  },
  { outputBytesMax: 2 ** 30 },
);
process.stdout.write(result.kind);
