import { renderErrorChain } from '../base/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import type { Labels, RouterIdentity } from '../model/index.ts';
import type { PollResult, ResourceResult } from '../status/index.ts';
import type { ResourceSummary } from '../web/index.ts';
import { FLEET_FAMILIES as F, toFamily } from './fleet-families.ts';

type State = ResourceSummary['state'];

interface Page {
  state: State;
  /** When its values were last read, on the monotonic clock. */
  readAtMs: number | undefined;
  durationMs: number | undefined;
  error: string | null;
  finding: string | null;
  /** Whether its answer has values of which none became a series. */
  isUnread: boolean;
  /** Whether its absence counts as a failure. */
  isRequired: boolean;
}

/** What became of each resource of a router, and the series that say so. */
export class ResourceBook {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #pages = new Map<string, Page>();

  constructor(router: RouterIdentity, exposition: FleetExposition) {
    this.#router = router;
    this.#exposition = exposition;
  }

  /** Takes over the outcome of a poll, values included. */
  note({ resources, capabilities }: PollResult): void {
    for (const {
      name,
      state,
      families,
      faults,
      isUnread,
      durationMs,
      readAtMs,
      isOptional,
      isIdentity,
      staleAfterMs,
      error,
    } of resources) {
      const page = this.#page(name);
      page.state = state === 'read' ? 'up' : state;
      page.durationMs = durationMs;
      page.error = state === 'failed' ? renderErrorChain(error) : null;
      page.finding = state === 'read' ? describeReading({ isUnread, faults }) : null;
      page.isUnread = isUnread;
      page.isRequired = !isOptional;
      if (state === 'read') {
        page.readAtMs = readAtMs;
        const end = isIdentity ? 'never' : readAtMs + staleAfterMs;
        const dropped = faults.filter(({ reason }) => reason === 'duplicate').length;
        this.#exposition.publishValues(this.#router, `values:${name}`, families, end, dropped);
      } else if (state !== 'failed') {
        page.readAtMs = undefined;
        this.#exposition.publishValues(this.#router, `values:${name}`, [], 'never');
      }
    }
    // Slots that turned out not to be there stand behind their pattern.
    const known = new Set(capabilities.map(({ resource }) => resource));
    for (const [name, { state }] of this.#pages) {
      if (state === 'unsupported' && !known.has(name)) this.#pages.delete(name);
    }
    for (const { resource, isSupported, isOptional } of capabilities) {
      if (isSupported || this.#pages.has(resource)) continue;
      const page = this.#page(resource);
      page.state = 'unsupported';
      page.isRequired = !isOptional;
    }
    this.#publish();
  }

  /** Takes over the state of something that is no status resource. */
  noteOther(name: string, state: State, error: string | null): void {
    const page = this.#page(name);
    page.state = state;
    page.error = error;
    this.#publish();
  }

  /** Everything in the order in which it was first seen; `nowMs` is monotonic. */
  describe(nowMs: number): readonly ResourceSummary[] {
    return [...this.#pages].map(([resource, { state, readAtMs, durationMs, error, finding }]) => ({
      resource,
      state,
      ageSeconds: readAtMs === undefined ? null : (nowMs - readAtMs) / 1000,
      durationSeconds: durationMs === undefined ? null : durationMs / 1000,
      error,
      finding,
    }));
  }

  #page(name: string): Page {
    const known = this.#pages.get(name);
    if (known) return known;
    const page: Page = {
      state: 'failed',
      readAtMs: undefined,
      durationMs: undefined,
      error: null,
      finding: null,
      isUnread: false,
      isRequired: true,
    };
    this.#pages.set(name, page);
    return page;
  }

  #publish(): void {
    const pages = [...this.#pages].map(([resource, page]) => ({ labels: { resource }, ...page }));
    const asked = pages.filter(({ state }) => state === 'up' || state === 'failed');
    // What a device need not have is no failure, nor is what the account may not read: that has a series of its own.
    const judged = pages.filter(
      ({ state, isRequired }) => state !== 'forbidden' && (state !== 'unsupported' || isRequired),
    );
    const toSamples = (of: typeof pages, value: (page: Page) => number): [Labels, number][] =>
      of.map((page) => [page.labels, value(page)]);
    this.#exposition.publish(this.#router, 'resources', [
      toFamily(
        F.resourceUp,
        toSamples(judged, ({ state }) => (state === 'up' ? 1 : 0)),
      ),
      toFamily(
        F.resourceSupported,
        toSamples(pages, ({ state }) => (state === 'unsupported' ? 0 : 1)),
      ),
      toFamily(
        F.resourcePermitted,
        toSamples(pages, ({ state }) => (state === 'forbidden' ? 0 : 1)),
      ),
      // Of the logs and of what only a reader reads there is nothing to understand.
      toFamily(
        F.resourceUnderstood,
        toSamples(
          pages.filter(({ state, readAtMs }) => state === 'up' && readAtMs !== undefined),
          ({ isUnread }) => (isUnread ? 0 : 1),
        ),
      ),
      toFamily(
        F.resourceDuration,
        asked.flatMap(({ labels, durationMs }): [Labels, number][] =>
          durationMs === undefined ? [] : [[labels, durationMs / 1000]],
        ),
      ),
    ]);
    const ages = pages.flatMap(({ labels, readAtMs }) =>
      readAtMs === undefined ? [] : [{ labels, sinceMs: readAtMs }],
    );
    this.#exposition.publishAges(this.#router, { ...F.resourceAge, samples: ages });
  }
}

/** What is odd about an answer that was read, in words; `null` when nothing is. */
export function describeReading({ isUnread, faults }: Pick<ResourceResult, 'isUnread' | 'faults'>): string | null {
  if (isUnread) return 'answered, but no metric could be read from it';
  if (faults.length === 0) return null;
  return faults.length === 1 ? '1 value could not be read' : `${faults.length} values could not be read`;
}
