import type { StoredBatch } from '../contracts.ts';
import type { SinkPlace } from '../sink-place.ts';
import { floorOf, parsePlace } from './cursor.ts';
import { type ClusterLink, KEYS_MAX } from './link.ts';
import { RecordFeed } from './record-feed.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** Longest time between two looks whether all records are here. Milliseconds. */
const LOOK_MS = 1000;

/** The cursor of a sink; without a place if its message cannot be read. */
interface SinkCursor {
  readonly sink: string;
  readonly place: SinkPlace | undefined;
}

/** Reads the cursors of all sinks. */
export async function readCursors(link: ClusterLink, subjects: Subjects): Promise<readonly SinkCursor[]> {
  const names = await link.listSubjects(subjects.stream, subjects.cursors, KEYS_MAX);
  const stored = await Promise.all(names.map((subject) => link.readLast(subjects.stream, subject)));
  return stored.flatMap((message): SinkCursor[] => {
    if (!message) return [];
    const topic = subjects.parse(message.subject);
    return topic?.kind === 'cur' ? [{ sink: topic.sink, place: parsePlace(message.payload.toString()) }] : [];
  });
}

/** Yields the records that not every sink has, as they are stored, up to the newest one of now. `sinks`: the configured ones. */
export async function* readWaiting(
  link: ClusterLink,
  subjects: Subjects,
  sinks: readonly string[],
): AsyncGenerator<readonly StoredBatch[]> {
  const cursors = await readCursors(link, subjects);
  // A sink that has not begun yet may begin at the oldest record, and one that cannot be read may need everything.
  const isWhole = cursors.length === 0 || sinks.some((sink) => !cursors.some((one) => one.sink === sink));
  const from = isWhole ? 0 : Math.min(...cursors.map(({ place }) => (place ? floorOf(place, true) : 0)));
  const { lastSeq } = readStreamState(await link.ask(`STREAM.INFO.${subjects.stream}`));
  let more = Promise.withResolvers<void>();
  const wake = () => more.resolve();
  const feed = new RecordFeed(link, subjects, from, { onRecords: wake, onSilent: wake });
  try {
    for (;;) {
      const { seenSeq } = feed;
      const isLast = feed.isCaughtUp || seenSeq >= lastSeq;
      yield [...feed.held];
      feed.dropBefore(seenSeq + 1);
      if (isLast) return;
      if (feed.fault) throw feed.fault;
      await Promise.race([more.promise, link.clock.sleep(LOOK_MS)]);
      more = Promise.withResolvers();
      // Rejects if the engine stays away.
      await link.ready();
    }
  } finally {
    await feed.close();
  }
}
