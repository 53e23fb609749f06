import type { StreamState } from '../position/position.ts';
import type { LineTimes } from '../time/line-times.ts';
import { type Entry, fromHeldEntry, type HeldEntry, type RecordFrame, renderEntry, toHeldEntry } from './entry.ts';
import type { RecordBuffer } from './record-buffer.ts';

/** The end of a reading: `more` follows at once, the file is `open` to new lines, or it is `closed`. */
export type ReadingEnd = 'more' | 'open' | 'closed';

/** Lines that wait for the router's clock to be set. */
const UNSYNCED_LINES_MAX = 1000;

/** An entry that is not rendered yet. */
interface Waiting {
  readonly entry: Entry;
  /** Time by a clock that was not set; the true time is still unknown. */
  unsyncedUtcMs: number | undefined;
}

/**
 * Entries of a log that are not rendered yet, in order: the last one waits for lines that continue it, and those from
 * before the clock was set for the first line after.
 */
export class WaitingEntries {
  readonly #times: LineTimes;
  readonly #frame: RecordFrame;
  #waiting: Waiting[] = [];
  /** UTC of the newest of them that is {@link Waiting.unsyncedUtcMs unsynced}, as the router's clock had it. */
  #newestUnsyncedMs: number | undefined;
  /** Index of the first of them. */
  #unsyncedFrom = 0;

  /** `held`: the entry that the reading before kept back. */
  constructor(times: LineTimes, frame: RecordFrame, held: StreamState['held']) {
    this.#times = times;
    this.#frame = frame;
    if (held) this.push(fromHeldEntry(held));
  }

  get length(): number {
    return this.#waiting.length;
  }

  get last(): Entry | undefined {
    return this.#waiting.at(-1)?.entry;
  }

  /** True while an entry waits for the clock to be set. */
  get hasUnsynced(): boolean {
    return this.#newestUnsyncedMs !== undefined;
  }

  push(entry: Entry): void {
    this.#waiting.push({ entry, unsyncedUtcMs: undefined });
  }

  /** Adds an entry from before the clock was set, which showed `utcMs`. */
  pushUnsynced(entry: Entry, utcMs: number): void {
    if (this.#newestUnsyncedMs === undefined) this.#unsyncedFrom = this.#waiting.length;
    this.#newestUnsyncedMs = utcMs;
    this.#waiting.push({ entry, unsyncedUtcMs: utcMs });
    if (this.#waiting.length > UNSYNCED_LINES_MAX) this.resolveUnsynced(undefined, 'more');
  }

  /**
   * Gives lines from before the clock was set their times: counted back from the first line after, at `saneUtcMs`; without
   * one, the time of the download, unless the file is closed and its clock may have been right.
   */
  resolveUnsynced(saneUtcMs: number | undefined, end: ReadingEnd): void {
    const newest = this.#newestUnsyncedMs;
    if (newest === undefined) return;
    this.#newestUnsyncedMs = undefined;
    const isTrusted = saneUtcMs === undefined && end === 'closed' && this.#times.trustClock();
    // Not from the first one that waits: a thousand of them would be gone through again with each further line.
    for (const waiting of this.#waiting.slice(this.#unsyncedFrom)) {
      const { entry, unsyncedUtcMs } = waiting;
      if (unsyncedUtcMs === undefined) continue;
      if (saneUtcMs !== undefined) {
        entry.timestamp = this.#times.renderRemapped(saneUtcMs - (newest - unsyncedUtcMs), entry.start);
        entry.flags = [...entry.flags, 'remapped'];
      } else if (isTrusted) {
        entry.timestamp = this.#times.renderTrusted(unsyncedUtcMs, entry.start);
        entry.flags = [...entry.flags.filter((flag) => flag !== 'unsynced'), 'clock_uncertain'];
      } else entry.timestamp = this.#times.renderObserved(entry.start);
      waiting.unsyncedUtcMs = undefined;
    }
  }

  /** Renders all entries, except for the last one if it `holds`, which is returned as it is kept until the next reading. */
  flush(records: RecordBuffer, holds = false): HeldEntry | undefined {
    const count = this.#waiting.length - (holds ? 1 : 0);
    if (count > 0)
      for (const { entry } of this.#waiting.splice(0, count)) records.push(renderEntry(entry, this.#frame));
    const [kept] = this.#waiting;
    return kept && toHeldEntry(kept.entry);
  }
}
