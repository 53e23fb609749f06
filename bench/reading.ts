/** Reads one log of one router as the agent does, with the shipped log rules. */
import { createSystemClock } from '../src/base/index.ts';
import { type ArchivePool, followOnce, LineMatcher, type RecordLog, SHIPPED_RULES, Zone } from '../src/logs/index.ts';

const NAME = 'network/log-2026-11-21-12:00:00.bz2';
const matcher = new LineMatcher(SHIPPED_RULES);

/** Reads all lines of `body` as records of `router`, and passes them to `commit`. */
export async function readLog(
  router: string,
  body: () => AsyncIterable<Uint8Array>,
  archives: ArchivePool,
  records: Pick<RecordLog, 'commit'>,
): Promise<void> {
  await followOnce(
    {
      router: { name: router, labels: { site: 'munich' } },
      source: {
        listLogs: () => Promise.resolve([NAME]),
        readLog: (_name, _signal, consume) => consume(body()),
      },
      records: { readPositions: () => new Map(), readFacts: () => undefined, ...records },
      archives,
      clock: createSystemClock(),
      zone: new Zone('Europe/Berlin'),
      matcher,
      isWanted: () => true,
      isOnlyRun: true,
      report: (event) => {
        if (event.type === 'log-failed') throw event.cause;
      },
    },
    new AbortController().signal,
  );
}
