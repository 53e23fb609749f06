import type { MetricFamily } from '../../model/index.ts';
import type { PollResult } from '../../status/index.ts';

/** Resources of one router that are remembered. A router names its modems, so their number has a bound. */
const RESOURCES_MAX = 16;

/** Facts from the last answer of each resource, kept as long as its values are served. */
export class LatestFacts<T> {
  readonly #extract: (families: readonly MetricFamily[]) => T | undefined;
  /** By resource; most routers have at most one with facts. */
  #known: Map<string, { readonly facts: T; readonly untilMs: number }> | undefined;

  /** `extract`: returns the facts in an answer; `undefined` if it has none. */
  constructor(extract: (families: readonly MetricFamily[]) => T | undefined) {
    this.#extract = extract;
  }

  /** Records what a poll has read. A failed resource keeps its facts until they expire. */
  record({ resources, withdrawn }: Pick<PollResult, 'resources' | 'withdrawn'>): void {
    for (const { name, state, isUnchanged, families, readAtMs, staleAfterMs } of resources) {
      if (state === 'failed') continue;
      const known = this.#known?.get(name);
      const read = state === 'read' ? this.#extract(families) : undefined;
      const facts = isUnchanged ? known?.facts : read;
      if (facts === undefined) {
        this.#known?.delete(name);
        continue;
      }
      this.#known ??= new Map();
      if (known || this.#known.size < RESOURCES_MAX) this.#known.set(name, { facts, untilMs: readAtMs + staleAfterMs });
    }
    for (const name of withdrawn) this.#known?.delete(name);
  }

  /** Lists the facts that have not expired, by the order in which their resources were first read. Monotonic time. */
  list(nowMs: number): readonly T[] {
    return [...(this.#known?.values() ?? [])].filter(({ untilMs }) => nowMs < untilMs).map(({ facts }) => facts);
  }
}
