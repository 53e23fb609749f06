/** Facts about a dead letter that need no reading of its body. */
export interface IndexedLetter {
  /** Number of its first message in the stream: a letter that is marked for replay keeps it. */
  readonly id: number;
  /** Number of its last message. */
  readonly seq: number;
  readonly sink: string;
  readonly uid: string;
  /** Size as counted against the limit. */
  readonly bytes: number;
  /** Time of the rejection: wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** True if the letter is marked for replay. */
  readonly isReplayed: boolean;
}

interface SinkLetters {
  readonly letters: Map<string, IndexedLetter>;
  bytes: number;
}

const NOBODY = { sink: '', bytes: 0, letters: [][Symbol.iterator]() as Iterator<IndexedLetter, undefined> };

/** The dead letters of all sinks, without their records. */
export class LetterIndex {
  readonly #sinks = new Map<string, SinkLetters>();
  readonly #ids = new Map<number, IndexedLetter>();

  /** Size of all letters. */
  get bytes(): number {
    return [...this.#sinks.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get(id: number): IndexedLetter | undefined {
    return this.#ids.get(id);
  }

  /** True if there is a letter of a record and a sink. */
  has(sink: string, uid: string): boolean {
    return this.#sinks.get(sink)?.letters.has(uid) ?? false;
  }

  /** Sets the letter of a record, unless a later message of it is known. */
  set(letter: IndexedLetter): void {
    const { sink, uid, seq } = letter;
    const known = this.#sinks.get(sink)?.letters.get(uid);
    if (known && known.seq >= seq) return;
    // A letter that was only marked keeps its place.
    if (known && known.id !== letter.id) this.remove(sink, uid, seq);
    const of = this.#sinks.get(sink) ?? { letters: new Map<string, IndexedLetter>(), bytes: 0 };
    this.#sinks.set(sink, of);
    of.bytes += letter.bytes - (of.letters.get(uid)?.bytes ?? 0);
    of.letters.set(uid, letter);
    this.#ids.set(letter.id, letter);
  }

  /** Removes the letter of a record, unless a message behind `seq` is known of it. */
  remove(sink: string, uid: string, seq: number): void {
    const of = this.#sinks.get(sink);
    const known = of?.letters.get(uid);
    if (!of || !known || known.seq > seq) return;
    of.bytes -= known.bytes;
    of.letters.delete(uid);
    this.#ids.delete(known.id);
    if (of.letters.size === 0) this.#sinks.delete(sink);
  }

  /** Returns the letters of a sink, or of all sinks, the oldest first. */
  list(sink?: string): IndexedLetter[] {
    const sinks = sink === undefined ? [...this.#sinks.values()] : [this.#sinks.get(sink)];
    return sinks.flatMap((of) => [...(of?.letters.values() ?? [])]).toSorted((one, other) => one.id - other.id);
  }

  /** Returns the number of letters by sink; sinks without letters are omitted. */
  counts(): Map<string, number> {
    return new Map([...this.#sinks].map(([sink, { letters }]) => [sink, letters.size]));
  }

  /**
   * Returns letters of at least `excess` bytes together: the sink whose letters take the most space gives up its oldest, so that a
   * sink never loses letters to another that has more.
   */
  findOldest(excess: number): readonly IndexedLetter[] {
    const sinks = [...this.#sinks]
      .map(([sink, { letters, bytes }]) => ({ sink, bytes, letters: letters.values() }))
      .toSorted((one, other) => (one.sink < other.sink ? -1 : 1));
    const leaving: IndexedLetter[] = [];
    for (let left = excess; left > 0; ) {
      const largest = sinks.reduce((most, one) => (one.bytes > most.bytes ? one : most), sinks[0] ?? NOBODY);
      const letter = largest.letters.next().value;
      if (!letter) break;
      largest.bytes -= letter.bytes;
      left -= letter.bytes;
      leaving.push(letter);
    }
    return leaving;
  }
}
