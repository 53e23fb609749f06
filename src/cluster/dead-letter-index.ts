import type { MsgHdrs } from '@nats-io/transport-node';
import { decodeObject, parseJson, readString, unpackLines } from '../base/index.ts';
import type { StoredDeadLetter } from '../model/index.ts';
import { LINES_BYTES_MAX } from './record-feed.ts';

/** Facts about a dead letter that do not require its body. */
export interface IndexedDeadLetter {
  /** Number of its first message in the stream; marking for replay keeps it. */
  readonly id: number;
  /** Number of its last message. */
  readonly seq: number;
  readonly sink: string;
  readonly uid: string;
  /** Size as counted against the limit. Bytes. */
  readonly bytes: number;
  /** Time of the rejection. Milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly isReplayed: boolean;
}

interface SinkDeadLetters {
  readonly deadLetters: Map<string, IndexedDeadLetter>;
  bytes: number;
}

const NO_SINK = { sink: '', bytes: 0, deadLetters: [][Symbol.iterator]() as Iterator<IndexedDeadLetter, undefined> };

/** The dead letters of all sinks, without their records. */
export class DeadLetterIndex {
  readonly #sinks = new Map<string, SinkDeadLetters>();
  readonly #ids = new Map<number, IndexedDeadLetter>();

  get bytes(): number {
    return [...this.#sinks.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get(id: number): IndexedDeadLetter | undefined {
    return this.#ids.get(id);
  }

  has(sink: string, uid: string): boolean {
    return this.#sinks.get(sink)?.deadLetters.has(uid) ?? false;
  }

  /** Sets the dead letter of a record, unless a later message of it is known. */
  set(deadLetter: IndexedDeadLetter): void {
    const { sink, uid, seq } = deadLetter;
    const known = this.#sinks.get(sink)?.deadLetters.get(uid);
    if (known && known.seq >= seq) return;
    // A dead letter that was only marked keeps its place.
    if (known && known.id !== deadLetter.id) this.remove(sink, uid, seq);
    const of = this.#sinks.get(sink) ?? { deadLetters: new Map<string, IndexedDeadLetter>(), bytes: 0 };
    this.#sinks.set(sink, of);
    of.bytes += deadLetter.bytes - (of.deadLetters.get(uid)?.bytes ?? 0);
    of.deadLetters.set(uid, deadLetter);
    this.#ids.set(deadLetter.id, deadLetter);
  }

  /** Removes the dead letter of a record, unless a message after `seq` is known. */
  remove(sink: string, uid: string, seq: number): void {
    const of = this.#sinks.get(sink);
    const known = of?.deadLetters.get(uid);
    if (!of || !known || known.seq > seq) return;
    of.bytes -= known.bytes;
    of.deadLetters.delete(uid);
    this.#ids.delete(known.id);
    if (of.deadLetters.size === 0) this.#sinks.delete(sink);
  }

  /** Returns the dead letters of a sink, or of all sinks, oldest first. */
  list(sink?: string): IndexedDeadLetter[] {
    const sinks = sink === undefined ? [...this.#sinks.values()] : [this.#sinks.get(sink)];
    return sinks.flatMap((of) => [...(of?.deadLetters.values() ?? [])]).toSorted((one, other) => one.id - other.id);
  }

  /** Returns the number of dead letters by sink; sinks without any are omitted. */
  counts(): Map<string, number> {
    return new Map([...this.#sinks].map(([sink, { deadLetters }]) => [sink, deadLetters.size]));
  }

  /**
   * Returns dead letters of at least `excess` bytes together: the oldest of the sink with the largest share, so that a sink
   * never loses dead letters to one that has more.
   */
  findOldest(excess: number): readonly IndexedDeadLetter[] {
    const sinks = [...this.#sinks]
      .map(([sink, { deadLetters, bytes }]) => ({ sink, bytes, deadLetters: deadLetters.values() }))
      .toSorted((one, other) => (one.sink < other.sink ? -1 : 1));
    const leaving: IndexedDeadLetter[] = [];
    for (let left = excess; left > 0; ) {
      const largest = sinks.reduce((most, one) => (one.bytes > most.bytes ? one : most), sinks[0] ?? NO_SINK);
      const deadLetter = largest.deadLetters.next().value;
      if (!deadLetter) break;
      largest.bytes -= deadLetter.bytes;
      left -= deadLetter.bytes;
      leaving.push(deadLetter);
    }
    return leaving;
  }
}

/** Size of a dead letter as counted against the limit. A message without it is the marker of a removal. */
const BYTES_HEADER = 'Rx-Bytes';
/** Time of the rejection. Milliseconds since the Unix epoch. */
const TIME_HEADER = 'Rx-Time';
const REPLAY_HEADER = 'Rx-Replay';
/** Number of the dead letter, if this is not its first message. */
const NUMBER_HEADER = 'Rx-Letter';
/** Lifetime of the marker of a removal. Milliseconds. */
export const GONE_MS = 60_000;

/** Headers of a dead letter's message. */
export const DEAD_LETTER_HEADERS = {
  /** Lifetime of the marker of a removal, as a header value. */
  goneTtl: `${GONE_MS / 1000}s`,

  write(deadLetter: Omit<IndexedDeadLetter, 'id' | 'seq'> & { readonly id?: number }): readonly string[] {
    const { id, bytes, atMs, isReplayed } = deadLetter;
    return [
      ...[BYTES_HEADER, String(bytes), TIME_HEADER, String(atMs)],
      ...(isReplayed ? [REPLAY_HEADER, '1'] : []),
      ...(id === undefined ? [] : [NUMBER_HEADER, String(id)]),
    ];
  },

  /** `undefined` for the marker of a removal, and for messages of other programs. */
  read(headers: MsgHdrs | undefined, seq: number): Omit<IndexedDeadLetter, 'sink' | 'uid'> | undefined {
    const number = (name: string) => (headers?.has(name) ? Number(headers.get(name)) : Number.NaN);
    const [bytes, atMs] = [number(BYTES_HEADER), number(TIME_HEADER)];
    if (!(Number.isSafeInteger(bytes) && bytes > 0 && Number.isSafeInteger(atMs))) return undefined;
    const id = number(NUMBER_HEADER);
    const isOlder = Number.isSafeInteger(id) && id > 0 && id <= seq;
    return { id: isOlder ? id : seq, seq, bytes, atMs, isReplayed: number(REPLAY_HEADER) === 1 };
  },
};

type DeadLetterFields = Pick<
  StoredDeadLetter,
  'line' | 'reason' | 'code' | 'router' | 'component' | 'timestamp' | 'atMs'
>;

/** Renders a dead letter as the content of a message, before packing. */
export function renderDeadLetter({ line, reason, code, router, component, timestamp, atMs }: DeadLetterFields): string {
  return JSON.stringify({ version: 1, atMs, code, reason, router, component, timestamp, line });
}

/** Parses the packed content of a message; `undefined` if it is damaged. */
export function readDeadLetter(payload: Uint8Array): DeadLetterFields | undefined {
  let json: string;
  try {
    json = unpackLines(payload, LINES_BYTES_MAX).memory.toString();
  } catch {
    return undefined;
  }
  const fields = decodeObject(parseJson(json)) ?? {};
  const text = (name: string) => readString(fields, name);
  const { atMs, version } = fields;
  const [line, reason] = [text('line'), text('reason')];
  if (version !== 1 || typeof atMs !== 'number' || line === undefined || reason === undefined) return undefined;
  const [code, timestamp] = [text('code'), text('timestamp')];
  return { line, reason, code, router: text('router') ?? '', component: text('component') ?? '', timestamp, atMs };
}
