/** Reads one rotated file of as many bytes as the first argument says, made on the way, and prints how many records there are of a line. */
import { createSystemClock } from '../../src/base/index.ts';
import { followOnce, openArchivePool, Zone } from '../../src/logs/index.ts';

const LINES = Array.from(
  { length: 3000 },
  (_, index) =>
    `2026-11-20 09:${String(Math.floor(index / 60)).padStart(2, '0')}:07 [wan] wan1: check ${index} "failed"\n`,
);
const chunk = Buffer.from(LINES.join(''));
const copies = Math.ceil(Number(process.argv[2]) / chunk.length);

async function* body(): AsyncGenerator<Uint8Array> {
  for (let copy = 0; copy < copies; copy++) yield Buffer.from(chunk);
}

let records = 0;
await using archives = openArchivePool({ workers: 1 });
await followOnce(
  {
    router: { name: 'plant-7', labels: {} },
    source: {
      listLogs: () => Promise.resolve(['network/log-2026-11-20-12:00:00']),
      readLog: (_name, _signal, consume) => consume(body()),
    },
    records: {
      readPositions: () => new Map(),
      readFacts: () => undefined,
      commit: (step) => {
        for (const line of 'lines' in step ? step.lines : []) if (!line.includes('"event":')) records++;
      },
    },
    archives,
    clock: createSystemClock(),
    zone: new Zone('UTC'),
    isWanted: () => true,
    isOnlyRun: true,
    report: () => {},
  },
  new AbortController().signal,
);
process.stdout.write(`${records / LINES.length / copies}`);
