import { renderErrorChain } from '../../base/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { Labels, RouterIdentity } from '../../model/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import type { ResourceSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F, toFamily } from '../metrics/fleet-families.ts';

type State = ResourceSummary['state'];

interface Resource {
  /** Labels of all series about the resource. */
  readonly labels: Labels;
  state: State;
  /** Time at which its values were last read, on the monotonic clock. */
  readAtMs: number | undefined;
  durationMs: number | undefined;
  error: string | null;
  finding: string | null;
  /** True if its answer has values of which none became a series. */
  isUnread: boolean;
  /** True if its absence counts as a failure. */
  isRequired: boolean;
}

/** State of each resource of a router, and its series. */
export class ResourceStats {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #resources = new Map<string, Resource>();

  constructor(router: RouterIdentity, exposition: FleetExposition) {
    this.#router = router;
    this.#exposition = exposition;
  }

  /** Records a poll, including the values it read. */
  record({ resources, capabilities }: PollResult): void {
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
      const kept = this.#resourceOf(name);
      kept.state = state === 'read' ? 'up' : state;
      kept.durationMs = durationMs;
      kept.error = state === 'failed' ? renderErrorChain(error) : null;
      kept.finding = state === 'read' ? describeReading({ isUnread, faults }) : null;
      kept.isUnread = isUnread;
      kept.isRequired = !isOptional;
      if (state === 'read') {
        kept.readAtMs = readAtMs;
        const end = isIdentity ? 'never' : readAtMs + staleAfterMs;
        const dropped = faults.filter(({ reason }) => reason === 'duplicate').length;
        this.#exposition.publishValues(this.#router, `values:${name}`, families, end, dropped);
      } else if (state !== 'failed') {
        kept.readAtMs = undefined;
        this.#exposition.publishValues(this.#router, `values:${name}`, [], 'never');
      }
    }
    // Slots that turned out not to be there stand behind their pattern.
    const known = new Set(capabilities.map(({ resource }) => resource));
    for (const [name, { state }] of this.#resources) {
      if (state === 'unsupported' && !known.has(name)) this.#resources.delete(name);
    }
    for (const { resource, isSupported, isOptional } of capabilities) {
      if (isSupported || this.#resources.has(resource)) continue;
      const kept = this.#resourceOf(resource);
      kept.state = 'unsupported';
      kept.isRequired = !isOptional;
    }
    this.#publish();
  }

  /** Records the state of something that is not a status resource. */
  recordOther(name: string, state: State, error: string | null): void {
    // After nearly every run over the logs nothing is new, and the series do not tell why something failed.
    const isNew = this.#resources.get(name)?.state !== state;
    const kept = this.#resourceOf(name);
    kept.state = state;
    kept.error = error;
    if (isNew) this.#publish();
  }

  /** Everything in the order in which it was first seen; `nowMs` is monotonic. */
  describe(nowMs: number): readonly ResourceSummary[] {
    return [...this.#resources].map(([resource, { state, readAtMs, durationMs, error, finding }]) => ({
      resource,
      state,
      ageSeconds: readAtMs === undefined ? null : (nowMs - readAtMs) / 1000,
      durationSeconds: durationMs === undefined ? null : durationMs / 1000,
      error,
      finding,
    }));
  }

  #resourceOf(name: string): Resource {
    const known = this.#resources.get(name);
    if (known) return known;
    const resource: Resource = {
      labels: { resource: name },
      state: 'failed',
      readAtMs: undefined,
      durationMs: undefined,
      error: null,
      finding: null,
      isUnread: false,
      isRequired: true,
    };
    this.#resources.set(name, resource);
    return resource;
  }

  #publish(): void {
    const samples: Record<'up' | 'supported' | 'permitted' | 'understood' | 'duration', [Labels, number][]> = {
      up: [],
      supported: [],
      permitted: [],
      understood: [],
      duration: [],
    };
    for (const { labels, state, readAtMs, durationMs, isUnread, isRequired } of this.#resources.values()) {
      const isUp = state === 'up';
      samples.supported.push([labels, state === 'unsupported' ? 0 : 1]);
      samples.permitted.push([labels, state === 'forbidden' ? 0 : 1]);
      // What a device need not have is no failure, nor is what the account may not read: that has a series of its own.
      if (state !== 'forbidden' && (state !== 'unsupported' || isRequired)) samples.up.push([labels, isUp ? 1 : 0]);
      // Of the logs and of what only a reader reads there is nothing to understand.
      if (isUp && readAtMs !== undefined) samples.understood.push([labels, isUnread ? 0 : 1]);
      if ((isUp || state === 'failed') && durationMs !== undefined) samples.duration.push([labels, durationMs / 1000]);
    }
    this.#exposition.publish(this.#router, 'resources', [
      toFamily(F.resourceUp, samples.up),
      toFamily(F.resourceSupported, samples.supported),
      toFamily(F.resourcePermitted, samples.permitted),
      toFamily(F.resourceUnderstood, samples.understood),
      toFamily(F.resourceDuration, samples.duration),
    ]);
    const ages = [...this.#resources.values()].flatMap(({ labels, readAtMs }) =>
      readAtMs === undefined ? [] : [{ labels, sinceMs: readAtMs }],
    );
    this.#exposition.publishAges(this.#router, { ...F.resourceAge, samples: ages });
  }
}

/** Describes what is odd about an answer; `null` if nothing is. */
export function describeReading({ isUnread, faults }: Pick<ResourceResult, 'isUnread' | 'faults'>): string | null {
  if (isUnread) return 'answered, but no metric could be read from it';
  if (faults.length === 0) return null;
  return faults.length === 1 ? '1 value could not be read' : `${faults.length} values could not be read`;
}
