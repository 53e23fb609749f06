import type { Clock } from '../../base/index.ts';
import { floorOf, parsePlace } from './cursor.ts';
import { type ClusterLink, KEYS_MAX } from './link.ts';
import type { Subjects } from './subjects.ts';

/** Dependencies of the janitor. */
export interface JanitorOptions {
  /** Connection to the engine. */
  readonly link: ClusterLink;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** True while this replica is the one that purges. */
  readonly isOwner: () => boolean;
  /** True while records have hardly any room: then none is kept that every sink has, for a sink to get it again. */
  readonly isTight: () => boolean;
  /** Names of the configured sinks. */
  readonly sinks: () => readonly string[];
  /** True if a replica serves a sink, which has it configured then. */
  readonly isServed: (sink: string) => boolean;
  /** Looks for routers that no replica knows any more, and removes what is stored of them. */
  readonly removeAbsent: () => Promise<void>;
}

/** Interval of the purges. Milliseconds. */
const INTERVAL_MS = 10_000;
/**
 * Time for which the cursor of a sink is kept that this replica does not know and nobody serves: the replicas of a cluster get a new
 * configuration one after the other. Milliseconds.
 */
const UNKNOWN_MS = 10 * 60_000;
/** Interval of the looks for routers that no replica knows. Milliseconds. */
const ABSENCE_EVERY_MS = 3_600_000;

/**
 * Purges the records that every sink has, and none may get again; without sinks none. Removes what is stored of routers that nobody
 * knows any more.
 */
export class Janitor {
  readonly #options: JanitorOptions;
  readonly #closing = new AbortController();
  /** Times at which sinks with a cursor were first missing in the configuration, by subject. Monotonic milliseconds. */
  readonly #unknownSinceMs = new Map<string, number>();
  #purgedTo = 0;
  /** Time of the last look for routers. Monotonic milliseconds. */
  #lookedMs = -Infinity;

  constructor(options: JanitorOptions) {
    this.#options = options;
  }

  /** Purges now and then, until it is closed. */
  async run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#clock.sleep(INTERVAL_MS, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.purge();
        await this.#removeAbsent();
      } catch {
        // The engine is away; the next time does the same.
      }
    }
  }

  close(): void {
    this.#closing.abort();
  }

  get #clock(): Clock {
    return this.#options.link.clock;
  }

  async #removeAbsent(): Promise<void> {
    const { isOwner, removeAbsent } = this.#options;
    const nowMs = this.#clock.monotonic();
    if (!isOwner() || nowMs - this.#lookedMs < ABSENCE_EVERY_MS) return;
    await removeAbsent();
    this.#lookedMs = nowMs;
  }

  /** Purges once, if this replica is the one that does. */
  async purge(): Promise<void> {
    const { link, subjects, isOwner, isTight, sinks } = this.#options;
    if (!isOwner()) return;
    const cursors = await link.listSubjects(subjects.stream, subjects.cursors, KEYS_MAX);
    const floors: number[] = [];
    for (const subject of cursors) {
      if (await this.#dropUnknown(subject)) continue;
      const stored = await link.readLast(subjects.stream, subject);
      const place = stored && parsePlace(stored.payload.toString());
      // What cannot be read may need everything.
      floors.push(place ? floorOf(place, isTight()) : 0);
    }
    // A sink that has not begun yet may begin at the oldest record.
    const isMissing = sinks().some((sink) => !cursors.includes(subjects.of({ kind: 'cur', sink })));
    const floor = floors.length > 0 && !isMissing ? Math.min(...floors) : 0;
    // It goes back with a stream that was made anew.
    if (floor <= 0 || floor === this.#purgedTo || !isOwner()) return;
    await link.ask(`STREAM.PURGE.${subjects.stream}`, { filter: subjects.records, seq: floor });
    this.#purgedTo = floor;
  }

  /** Removes the cursor of a sink that is not configured any more. */
  async #dropUnknown(subject: string): Promise<boolean> {
    const { link, subjects, sinks, isServed } = this.#options;
    const topic = subjects.parse(subject);
    if (topic?.kind === 'cur' && (sinks().includes(topic.sink) || isServed(topic.sink))) {
      this.#unknownSinceMs.delete(subject);
      return false;
    }
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#unknownSinceMs.get(subject) ?? nowMs;
    this.#unknownSinceMs.set(subject, sinceMs);
    if (nowMs - sinceMs < UNKNOWN_MS) return false;
    await link.ask(`STREAM.PURGE.${subjects.stream}`, { filter: subject });
    this.#unknownSinceMs.delete(subject);
    return true;
  }
}
