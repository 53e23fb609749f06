import { Steps } from '../base/index.ts';
import { CONFIG_FILE_BYTES_MAX, LABEL_CHARS_MAX } from '../settings/index.ts';
import { failReading } from './errors.ts';

/** A router as a source names it: nothing of it has been checked. */
export type NamedRouter = Readonly<Record<string, unknown>>;

/** Heap of the thread that parses a list, per router and besides: twice what usual ones take. */
const HEAP_MB = { perRouter: 0.03, else: 64 };

/** Returns the heap that a thread may have for a list of so many routers. MiB. */
export function toHeapMb(routersMax: number): number {
  return HEAP_MB.else + Math.ceil(HEAP_MB.perRouter * routersMax);
}

/** Says that a list has more routers than its source may name. */
export function describeTooMany(routersMax: number): string {
  return `The list has more than ${routersMax} routers; if all are wanted, and there is memory for them, raise "routers_max" of the source`;
}

/** A list of routers. */
export interface ListedRouters {
  /** The list as JSON, one router per line. */
  readonly text: string;
  /** Where each of them is written, in the order of the list, such as `entry 3 of /etc/routers.yaml`. */
  readonly places: readonly string[];
}

/** Labels of one router that are kept: one more than it may have, so that too many are refused. */
const LABELS_KEPT = 33;
/** Characters of a name or value of a label that are kept: one more than it may have. */
const LABEL_CHARS_KEPT = LABEL_CHARS_MAX + 1;

/**
 * The routers of one answer as text, one per line, while they are converted: in order of their names, with sorted keys, so
 * that the same routers always give the same text, which is why the places where they are written are no part of it. A short answer may name the same large labels for thousands of routers;
 * therefore the text is bounded, and not the answer alone.
 */
export class RouterList {
  readonly #routersMax: number;
  readonly #lines: { readonly line: string; readonly place: string }[] = [];
  readonly #steps = new Steps();
  #bytes = 0;

  constructor(routersMax: number) {
    this.#routersMax = routersMax;
  }

  /** Adds a router that is written at `place`. Rejects with `InventoryError` when the list becomes too large. */
  async add(router: NamedRouter, place: string): Promise<void> {
    const { name, ...rest } = router;
    const line = JSON.stringify(sortKeys(name === undefined ? rest : { name, ...rest }, ['name']));
    this.#bytes += Buffer.byteLength(line) + 2;
    if (this.#lines.length >= this.#routersMax) throw failReading('too_large', describeTooMany(this.#routersMax));
    if (this.#bytes > CONFIG_FILE_BYTES_MAX - 4) {
      throw failReading('too_large', `The routers of the list need more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
    }
    this.#lines.push({ line, place });
    if (this.#steps.isDue) await this.#steps.next();
  }

  /** Renders the list. It is not larger than a configuration file. */
  render(): ListedRouters {
    if (this.#lines.length === 0) return { text: '[]\n', places: [] };
    const sorted = this.#lines.toSorted((a, b) => (a.line < b.line ? -1 : Number(a.line > b.line)));
    return { text: `[\n${sorted.map(({ line }) => line).join(',\n')}\n]\n`, places: sorted.map(({ place }) => place) };
  }
}

/** Copies labels without what no router may have anyway, but so that it is still refused for it. */
export function cutLabels(labels: readonly (readonly [string, unknown])[]): NamedRouter | undefined {
  if (labels.length === 0) return undefined;
  // Not by assignment: the name may be that of a prototype.
  return Object.fromEntries(labels.slice(0, LABELS_KEPT).map(([name, value]) => [cut(name), cut(value)]));
}

function cut<Value>(value: Value): Value | string | null {
  if (typeof value === 'string') return value.slice(0, LABEL_CHARS_KEPT);
  return typeof value === 'object' ? null : value;
}

/** Sorts the keys of a value, whose depth is bounded; those of `first` come before all others. */
function sortKeys(value: unknown, first: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => sortKeys(item));
  if (typeof value !== 'object' || value === null) return value;
  const rank = (key: string) => (first.includes(key) ? 0 : 1);
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}
