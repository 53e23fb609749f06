import { randomBytes } from 'node:crypto';
import { StoreError } from '../errors.ts';
import type { DeadLetters } from '../letters.ts';
import type { SinkPlace } from '../sink-place.ts';
import { ClusterLetters } from './cluster-letters.ts';
import { CommitQueue } from './commit-queue.ts';
import { parsePlace } from './cursor.ts';
import { ClusterLink, type Engine, KEYS_MAX, type StoredMessage, toEngine } from './link.ts';
import { checkClusterStream } from './stream.ts';
import { Subjects } from './subjects.ts';

/** A cluster, and the routers of which the state is moved. */
export interface ClusterTransferOptions extends Engine {
  /** Selects the routers. */
  readonly isWanted: (router: string) => boolean;
  /** Rejects if a replica runs one of these routers, or would. Asked before anything is read, and again before something is written. */
  readonly checkFree: (routers: readonly string[]) => Promise<void>;
  /** Names of the configured sinks. */
  readonly sinks: readonly string[];
  /** Returns the wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** An open stream, and the way to commit to it. */
export interface TransferSession {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  readonly queue: CommitQueue;
  /** Dead letters of all sinks. */
  readonly letters: ClusterLetters;
}

/** Number of routers read or written at a time. */
const ROUTERS_AT_ONCE = 32;

/** Opens the stream of a cluster for one piece of work. Rejects with {@link StoreError}. */
export async function withStream<T>(
  { servers, cluster }: Engine,
  work: (session: TransferSession) => Promise<T>,
): Promise<T> {
  const link = new ClusterLink(toEngine({ servers, cluster }));
  const subjects = new Subjects(cluster);
  const queue = new CommitQueue({
    link,
    stream: subjects.stream,
    replica: 'state',
    prefix: randomBytes(9).toString('base64url'),
    // Whether the routers are free was asked; what has changed since is refused by its sequence.
    isOwner: () => true,
    onStale: () => {},
    onStored: () => {},
  });
  try {
    await checkClusterStream(link, subjects);
    const letters = new ClusterLetters({ link, subjects });
    await letters.check();
    // The number of letters is known from the start.
    await letters.look();
    return await work({ link, subjects, queue, letters });
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code !== 'fenced') throw cause;
    throw new StoreError('fenced', cause.message, {
      disposition: 'operator',
      hint: 'Stop the replicas, or take these routers out of their configuration, and repeat the command',
    });
  } finally {
    queue.close();
    await link.close();
  }
}

/** Opens the dead letters of a cluster for one piece of work, as a command does. Rejects with {@link StoreError}. */
export function withClusterLetters<T>(options: Engine, work: (letters: DeadLetters) => Promise<T>): Promise<T> {
  return withStream(options, ({ letters }) => work(letters));
}

/** Does something with each router, several at a time; the first failure ends it. */
export async function eachRouter(routers: readonly string[], work: (router: string) => Promise<void>): Promise<void> {
  const left = [...routers];
  const next = async () => {
    for (let router = left.shift(); router !== undefined; router = left.shift()) {
      try {
        await work(router);
      } catch (cause) {
        left.length = 0;
        throw cause;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: ROUTERS_AT_ONCE }, next));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** The cursor of a sink; without a place if its message cannot be read. */
export interface SinkCursor {
  readonly sink: string;
  readonly place: SinkPlace | undefined;
}

/** Reads the cursors of all sinks. */
export async function readCursors({ link, subjects }: TransferSession): Promise<readonly SinkCursor[]> {
  const names = await link.listSubjects(subjects.stream, subjects.cursors, KEYS_MAX);
  const stored = await Promise.all(names.map((subject) => link.readLast(subjects.stream, subject)));
  return stored.flatMap((message): SinkCursor[] => {
    if (!message) return [];
    const topic = subjects.parse(message.subject);
    return topic?.kind === 'cur' ? [{ sink: topic.sink, place: parsePlace(message.payload.toString()) }] : [];
  });
}

/** Lets messages be replaced that were read before, and no others. */
export function noteAll({ queue }: TransferSession, messages: readonly StoredMessage[]): void {
  for (const { subject, seq } of messages) queue.note(subject, seq);
}
