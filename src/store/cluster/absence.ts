import { Steps } from '../../base/index.ts';
import type { ClusterLink } from './link.ts';
import { listRouters } from './router-state.ts';
import type { Subjects } from './subjects.ts';

/** Sources of the routers that exist and that replicas know. */
export interface AbsenceOptions {
  /** Connection to the engine. */
  readonly link: Pick<ClusterLink, 'ask' | 'publish' | 'readLast' | 'listSubjects'>;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** True if a replica has the router configured, or if it cannot be told. */
  readonly mayKnow: (router: string) => boolean;
  /** Retention of the data of a router that nobody configures any more. Milliseconds. Default: 7 days, as on a disk. */
  readonly absenceMs?: number | undefined;
}

const ABSENCE_MS = 7 * 86_400_000;

/**
 * Removes positions, facts and values of routers that no replica has known for a week. Since when is told by a mark in the stream,
 * by the clock of the engine, so that it does not begin anew with another janitor.
 *
 * A replica that still has such a router open is refused, as after any other change, and reads it anew.
 */
export class Absence {
  readonly #options: AbsenceOptions;

  constructor(options: AbsenceOptions) {
    this.#options = options;
  }

  /** Looks at all routers of the stream once. Resolves with the names of those that were removed. */
  async look(): Promise<readonly string[]> {
    const { link, subjects, mayKnow, absenceMs = ABSENCE_MS } = this.#options;
    const { stream } = subjects;
    const marked = await listRouters(link, subjects, [subjects.marks]);
    for (const router of marked) {
      if (mayKnow(router)) await link.ask(`STREAM.PURGE.${stream}`, { filter: subjects.of({ kind: 'gone', router }) });
    }
    // A removal that did not end is done again.
    const stored = new Set([...marked, ...(await listRouters(link, subjects, subjects.states))]);
    const { ts } = await link.ask(`STREAM.INFO.${stream}`);
    const nowMs = Date.parse(String(ts));
    const removed: string[] = [];
    const steps = new Steps();
    for (const router of stored) {
      if (steps.isDue) await steps.next();
      if (mayKnow(router)) continue;
      const subject = subjects.of({ kind: 'gone', router });
      if (!marked.has(router)) {
        // One that another janitor has set meanwhile stays.
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
}
