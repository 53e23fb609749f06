import type { Clock } from '../base/index.ts';
import { floorOf, parsePlace } from './cursors.ts';
import { type ClusterLink, KEYS_MAX } from './link.ts';
import { listStoredRouters } from './open-routers.ts';
import type { Subjects } from './subjects.ts';

interface JanitorOptions {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  readonly isOwner: () => boolean;
  /** Returns true while the stream is nearly full: then no delivered record is kept for a redelivery. */
  readonly isTight: () => boolean;
  readonly sinks: () => readonly string[];
  /** Returns true if a replica serves a sink, and so has it configured. */
  readonly isServed: (sink: string) => boolean;
  readonly mayKnow: (router: string) => boolean;
  /** Called with the names of routers whose data was removed. Default: not reported. */
  readonly onForgotten?: ((routers: readonly string[]) => void) | undefined;
}

/** Interval of the purges. Milliseconds. */
const INTERVAL_MS = 10_000;
/**
 * Retention of the cursor of a sink that this replica does not know and none serves: the replicas of a cluster get a new
 * configuration one after the other. Milliseconds.
 */
const UNKNOWN_MS = 10 * 60_000;
/** Interval of the search for routers that no replica knows. Milliseconds. */
const ABSENCE_EVERY_MS = 3_600_000;

/**
 * Purges the records that every sink has and none may get again; without sinks none. Removes data of routers that no replica
 * knows any more.
 */
export class Janitor {
  readonly #options: JanitorOptions;
  readonly #closing = new AbortController();
  /** When sinks with a cursor were first missing in the configuration, by subject. Monotonic milliseconds. */
  readonly #unknownSinceMs = new Map<string, number>();
  #purgedTo = 0;
  #lookedMs = -Infinity;

  constructor(options: JanitorOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#clock.sleep(INTERVAL_MS, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.purge();
        await this.#removeAbsent();
      } catch {
        // The engine is away; the next run does the same.
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
    const { isOwner, onForgotten } = this.#options;
    const nowMs = this.#clock.monotonic();
    if (!isOwner() || nowMs - this.#lookedMs < ABSENCE_EVERY_MS) return;
    const removed = await removeAbsent(this.#options);
    if (removed.length > 0) onForgotten?.(removed);
    this.#lookedMs = nowMs;
  }

  async purge(): Promise<void> {
    const { link, subjects, isOwner, isTight, sinks } = this.#options;
    if (!isOwner()) return;
    const cursors = await link.listSubjects(subjects.stream, subjects.cursors, KEYS_MAX);
    const floors: number[] = [];
    for (const subject of cursors) {
      if (await this.#dropUnknown(subject)) continue;
      const stored = await link.readLast(subjects.stream, subject);
      const place = stored && parsePlace(stored.payload.toString());
      // A sink with an unreadable cursor may need everything.
      floors.push(place ? floorOf(place, isTight()) : 0);
    }
    // A sink without a cursor may start at the oldest record.
    const isMissing = sinks().some((sink) => !cursors.includes(subjects.of({ kind: 'cur', sink })));
    const floor = floors.length > 0 && !isMissing ? Math.min(...floors) : 0;
    // The floor decreases when the stream was recreated.
    if (floor <= 0 || floor === this.#purgedTo || !isOwner()) return;
    await link.ask(`STREAM.PURGE.${subjects.stream}`, { filter: subjects.records, seq: floor });
    this.#purgedTo = floor;
  }

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

interface AbsenceOptions extends Pick<JanitorOptions, 'subjects' | 'mayKnow'> {
  readonly link: Pick<ClusterLink, 'ask' | 'publish' | 'readLast' | 'listSubjects'>;
  /** Retention of the data of a router that no replica configures. Milliseconds; default 7 days, as on a disk. */
  readonly absenceMs?: number | undefined;
}

const ABSENCE_MS = 7 * 86_400_000;

/**
 * Removes positions, facts and values of routers that no replica has known for a week. A marker in the stream, with the
 * engine's time, records since when, so that another janitor continues the count. Resolves with the names of the removed
 * routers.
 *
 * A replica that still has such a router open is fenced, as after any other change, and reads it again.
 */
export async function removeAbsent(options: AbsenceOptions): Promise<readonly string[]> {
  const { link, subjects, mayKnow, absenceMs = ABSENCE_MS } = options;
  const { stream } = subjects;
  const marked = await listStoredRouters(link, subjects, [subjects.marks]);
  for (const router of marked) {
    if (mayKnow(router)) await link.ask(`STREAM.PURGE.${stream}`, { filter: subjects.of({ kind: 'gone', router }) });
  }
  // An incomplete removal is repeated.
  const stored = new Set([...marked, ...(await listStoredRouters(link, subjects, subjects.states))]);
  const { ts } = await link.ask(`STREAM.INFO.${stream}`);
  const nowMs = Date.parse(String(ts));
  const removed: string[] = [];
  for (const router of stored) {
    if (mayKnow(router)) continue;
    const subject = subjects.of({ kind: 'gone', router });
    if (!marked.has(router)) {
      // A marker that another janitor has set meanwhile stays.
      await link.publish({ subject, payload: Buffer.alloc(0), words: ['Nats-Expected-Last-Subject-Sequence', '0'] });
      continue;
    }
    const mark = await link.readLast(stream, subject);
    if (!mark || !(nowMs - mark.storedMs >= absenceMs)) continue;
    for (const filter of [...subjects.stateOf(router), subject]) await link.ask(`STREAM.PURGE.${stream}`, { filter });
    removed.push(router);
  }
  return removed;
}
