import { isPlainObject, parseJson } from '../../base/index.ts';
import type { PollResult } from '../../status/index.ts';

/** A fact that differs from its last known value; `before` is `undefined` at first contact. */
interface DeviceChange {
  /** Value of the label `fact` of the counter. */
  readonly kind: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** Family of a shipped module, the label that is followed for each `modem`, and the kind of its changes. */
const FOLLOWED = [
  ['router_modem_used_sim', 'used_sim', 'sim'],
  ['router_modem_info', 'provider_name', 'operator'],
  ['router_modem_access_technology', 'access_technology', 'access_technology'],
  ['router_modem_cell_info', 'cell_id', 'cell'],
] as const;
/** Facts of one router: more than its modems have. A router may invent others. */
const FACTS_MAX = 32;
const TEXT_CHARS_MAX = 64;

/**
 * The last known facts of a router whose changes are counted. A fact that is unknown for a while keeps its value. They are
 * stored, so that a change during a restart is seen, except cells: these are where the router is, and change often.
 */
export class DeviceChanges {
  /** By kind and modem. */
  readonly #facts = new Map<string, string>();
  /** What the last poll, or {@link recall}, has changed. */
  latest: readonly DeviceChange[] = [];

  /** Restores facts that {@link render} returned; any other text means a first contact. */
  recall(text: string): void {
    const stored = parseJson(text);
    const facts = Object.entries(isPlainObject(stored) ? stored : {});
    this.latest = facts.flatMap(([key, value]) => this.#follow(key, String(value)));
  }

  /** Compares the values of a poll with the last known ones. */
  record({ resources, serialNumber }: Pick<PollResult, 'resources' | 'serialNumber'>): void {
    // A router may report one modem many times.
    const seen = new Set<string>();
    const changes = resources
      .flatMap(({ families }) => families)
      .flatMap(({ name, samples }) =>
        FOLLOWED.filter(([family]) => family === name).flatMap(([, label, kind]) =>
          samples.flatMap(({ labels }) => {
            const key = `${kind} ${labels['modem'] ?? ''}`.slice(0, TEXT_CHARS_MAX);
            if (seen.has(key)) return [];
            seen.add(key);
            return this.#follow(key, labels[label]);
          }),
        ),
      );
    this.latest = [...this.#follow('serial ', serialNumber), ...changes];
  }

  /** Renders the facts to be kept over a restart. */
  render(): string {
    return JSON.stringify(Object.fromEntries([...this.#facts].filter(([key]) => !key.startsWith('cell '))));
  }

  #follow(longKey: string, value = ''): readonly DeviceChange[] {
    const [key, after] = [longKey.slice(0, TEXT_CHARS_MAX), value.slice(0, TEXT_CHARS_MAX).toWellFormed()];
    const before = this.#facts.get(key);
    if (after === '' || after === before || (before === undefined && this.#facts.size >= FACTS_MAX)) return [];
    this.#facts.set(key, after);
    return [{ kind: key.replace(/ .*/s, ''), before, after }];
  }
}
