import { decodeObject, parseJson } from '../base/index.ts';
import type { SinkPlace, StoredBatch } from '../model/index.ts';
import { type ClusterLink, KEYS_MAX } from './link.ts';
import { RecordFeed } from './record-feed.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

export function renderPlace({ cursor, taken, pass }: SinkPlace): string {
  return JSON.stringify({
    version: 1,
    at: [cursor.batch, cursor.index],
    taken: taken.map(({ atMs, batch, index }) => [atMs, batch, index]),
    ...(pass && { pass: [pass.batch, pass.index, pass.renews ? 1 : 0] }),
  });
}

/** Parses the output of {@link renderPlace}; `undefined` for anything else. */
export function parsePlace(text: string): SinkPlace | undefined {
  const { version, at, taken, pass } = decodeObject(parseJson(text)) ?? {};
  const cursor = readNumbers(at, 2);
  if (version !== 1 || !cursor || !Array.isArray(taken)) return undefined;
  const rows = taken.map((row) => readNumbers(row, 3));
  const passed = pass === undefined ? undefined : readNumbers(pass, 3);
  if (rows.includes(undefined) || (pass !== undefined && !passed)) return undefined;
  const [batch = 0, index = 0] = cursor;
  return {
    cursor: { batch, index },
    taken: rows.flatMap((row) => (row ? [{ atMs: row[0] ?? 0, batch: row[1] ?? 0, index: row[2] ?? 0 }] : [])),
    pass: passed && { batch: passed[0] ?? 0, index: passed[1] ?? 0, renews: passed[2] === 1 },
  };
}

function readNumbers(value: unknown, count: number): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length !== count) return undefined;
  const numbers: readonly unknown[] = value;
  const sound = numbers.filter((one): one is number => Number.isSafeInteger(one) && Math.abs(Number(one)) < NUMBER_MAX);
  return sound.length === count ? sound : undefined;
}

/** Returns the first message that the sink may still need. `isTight`: leaves out those kept for a redelivery. */
export function floorOf({ cursor, taken, pass }: SinkPlace, isTight: boolean): number {
  const kept = isTight ? [] : taken.map(({ batch }) => batch);
  return Math.min(cursor.batch, ...kept, pass?.batch ?? cursor.batch);
}

/** Maximum interval of the check whether all records have arrived. Milliseconds. */
const LOOK_MS = 1000;

interface SinkCursor {
  readonly sink: string;
  readonly place: SinkPlace | undefined;
}

export async function readCursors(link: ClusterLink, subjects: Subjects): Promise<readonly SinkCursor[]> {
  const names = await link.listSubjects(subjects.stream, subjects.cursors, KEYS_MAX);
  const stored = await Promise.all(names.map((subject) => link.readLast(subjects.stream, subject)));
  return stored.flatMap((message): SinkCursor[] => {
    if (!message) return [];
    const topic = subjects.parse(message.subject);
    return topic?.kind === 'cur' ? [{ sink: topic.sink, place: parsePlace(message.payload.toString()) }] : [];
  });
}

/** Yields the records that some sink still needs, as stored, up to the newest one at the call. `sinks`: the configured ones. */
export async function* readWaiting(
  link: ClusterLink,
  subjects: Subjects,
  sinks: readonly string[],
): AsyncGenerator<readonly StoredBatch[]> {
  const cursors = await readCursors(link, subjects);
  // A sink without a cursor may start at the oldest record; one with an unreadable cursor may need everything.
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
