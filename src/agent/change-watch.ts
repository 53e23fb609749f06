import type { PollResult } from '../status/index.ts';

/** Families whose values change when somebody changes the configuration of a router. */
const TELLING = new Set(['router_config_changes_total', 'router_profile_modified', 'router_profile_last_activated']);

/** Notices in the results of polls that the configuration of a router has changed. */
export class ChangeWatch {
  #hash: string | undefined;
  /** By family and labels. */
  readonly #values = new Map<string, number>();

  /** Whether this result differs from the ones before it. What is seen for the first time is no change. */
  sees({ configHash, resources }: PollResult): boolean {
    let isChanged = false;
    if (configHash !== undefined) {
      isChanged = this.#hash !== undefined && this.#hash !== configHash;
      this.#hash = configHash;
    }
    for (const { name, samples } of resources.flatMap(({ families }) => families)) {
      if (!TELLING.has(name)) continue;
      for (const { labels, value } of samples) {
        const series = JSON.stringify([name, labels]);
        isChanged ||= (this.#values.get(series) ?? value) !== value;
        this.#values.set(series, value);
      }
    }
    return isChanged;
  }
}
