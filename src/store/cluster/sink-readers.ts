import type { SinkStart } from '../contracts.ts';
import { StoreError } from '../errors.ts';
import { toFenced } from './commit-queue.ts';
import { toAway } from './link.ts';
import { type KnownMessage, SinkReader, type SinkReaderOptions } from './sink-reader.ts';

/** The configured sinks, and those that this replica serves. */
export interface SinkReadersOptions extends SinkReaderOptions {
  /** The configured sinks. */
  readonly sinks: () => readonly SinkStart[];
  /** True while a sink is this replica's. */
  readonly serves: (sink: string) => boolean;
  /** Another value than before whenever others may have served a sink since. */
  readonly termOf: (sink: string) => number;
  /** True once the stream is known to be as it must be. */
  readonly isReady: () => boolean;
  /** Called when this replica begins to serve a sink. */
  readonly onServing?: ((sink: string) => void) | undefined;
}

interface Entry {
  /** The connection when it was opened. */
  readonly connection: object | undefined;
  /** The term when it was opened. */
  readonly term: number;
  readonly reader: SinkReader;
  readonly opening: Promise<void>;
  isOpen: boolean;
}

/** Wait before a cursor that could not be read is read again. Milliseconds. */
const AGAIN_MS = 2000;

/** The readers of the sinks that this replica serves. Each is opened when it is asked for first, and closed when the sink is another's. */
export class SinkReaders {
  readonly #options: SinkReadersOptions;
  readonly #readers = new Map<string, Entry>();
  /** The last message that was given out for each sink by a reader that is closed. */
  readonly #given = new Map<string, KnownMessage>();
  readonly #closing = new AbortController();
  /** Sinks of which it was told that their cursor cannot be read. */
  readonly #failing = new Set<string>();

  constructor(options: SinkReadersOptions) {
    this.#options = options;
  }

  /** The number of records of the sink that lags most. */
  get waiting(): number {
    return Math.max(0, ...[...this.#readers.values()].map(({ reader }) => reader.countWaiting(() => true)));
  }

  /** The highest number of a message that was read from the stream for a sink. */
  get seenSeq(): number {
    return Math.max(0, ...[...this.#readers.values()].map(({ reader }) => reader.seenSeq));
  }

  /** Returns the reader of a sink that this replica serves, once it has its cursor. */
  find(sink: string): SinkReader | undefined {
    const known = this.#readers.get(sink);
    const { connection } = this.#options.link;
    const isServed = this.#options.serves(sink);
    const term = this.#options.termOf(sink);
    // A server that has lost its last commits in a power cut gives their numbers to others. And another replica may have moved the
    // cursor while nobody asked here.
    const isOutdated = connection !== undefined && (known?.connection !== connection || known.term !== term);
    if (known && (!isServed || isOutdated)) void this.close(sink);
    else if (known) return known.isOpen ? known.reader : undefined;
    if (!isServed) return undefined;
    const start = this.#options.sinks().find(({ name }) => name === sink);
    if (!start || !this.#options.isReady()) return undefined;
    const reader = new SinkReader(this.#options, start, this.#given.get(sink));
    this.#readers.set(sink, { connection, term, reader, opening: this.#open(sink, reader), isOpen: false });
    return undefined;
  }

  /** Resolves with the reader of a sink. Rejects if this replica does not serve it, or cannot read where it stands. */
  async whenOpen(sink: string): Promise<SinkReader> {
    await this.#options.link.ready();
    if (!this.find(sink)) await this.#readers.get(sink)?.opening;
    const reader = this.find(sink);
    if (reader) return reader;
    if (!this.#options.serves(sink)) throw toFenced({ kind: 'sink', name: sink });
    throw toAway(this.#options.link.fault);
  }

  /** Closes the reader of a sink; the next one reads anew where the sink stands. */
  async close(sink: string): Promise<void> {
    const known = this.#readers.get(sink);
    this.#readers.delete(sink);
    if (known?.reader.lastGiven) this.#given.set(sink, known.reader.lastGiven);
    await known?.reader.close();
  }

  /** Closes all readers; those that are asked for later read anew where their sinks stand. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#readers.keys()].map((sink) => this.close(sink)));
  }

  /** Closes all readers for good; no more may be asked for. */
  async end(): Promise<void> {
    this.#closing.abort();
    await this.closeAll();
  }

  /** Opens a reader, and wakes its sink; after a while if its cursor could not be read. */
  async #open(sink: string, reader: SinkReader): Promise<void> {
    const { onRecords, onServing } = this.#options;
    try {
      await reader.open();
      const entry = this.#readers.get(sink);
      if (entry?.reader === reader) {
        entry.isOpen = true;
        this.#failing.delete(sink);
        onServing?.(sink);
      }
      onRecords(sink);
    } catch (cause) {
      this.#noteFailure(sink, cause);
      void this.#reopenLater(sink, reader);
    }
  }

  /** Without a connection the link says why; and of another's sink nothing is wrong. */
  #noteFailure(sink: string, cause: unknown): void {
    const isFenced = cause instanceof StoreError && cause.code === 'fenced';
    const { link, onSilent } = this.#options;
    if (isFenced || !link.connection || this.#closing.signal.aborted || this.#failing.has(sink)) return;
    this.#failing.add(sink);
    onSilent?.(sink, cause);
  }

  async #reopenLater(sink: string, reader: SinkReader): Promise<void> {
    const { signal } = this.#closing;
    if (this.#readers.get(sink)?.reader === reader) this.#readers.delete(sink);
    await reader.close();
    await this.#options.link.clock.sleep(AGAIN_MS, signal).catch(() => {});
    if (!signal.aborted) this.#options.onRecords(sink);
  }
}
