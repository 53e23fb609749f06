import type { FamilyDescription, Labels, MetricFamily, RouterIdentity, Sample } from '../model/index.ts';
import { RouterSeries, SERIES_PER_ROUTER_MAX } from './router-series.ts';
import { type ExpositionFormat, escapeLabelValue, RouterLabels, renderHeader } from './text.ts';

const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)",?/y;

function parseSeries(lines: string, common: Labels): readonly Sample[] {
  return lines.split('\n').flatMap((line): Sample[] => {
    const end = line.lastIndexOf(' ');
    if (end < 0) return [];
    const begin = line.indexOf('{');
    const labels =
      begin < 0 || begin > end ? {} : parseLabels(line.slice(begin + 1, line.lastIndexOf('}', end)), common);
    return [{ labels, value: parseValue(line.slice(end + 1)) }];
  });
}

function parseLabels(pairs: string, common: Labels): Labels {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  for (let match = LABEL.exec(pairs); match; match = LABEL.exec(pairs)) {
    const [, name = '', escaped = ''] = match;
    const value = escaped.replaceAll(/\\(.)/g, (_all, letter: string) => (letter === 'n' ? '\n' : letter));
    if (common[name] !== value) labels[name] = value;
  }
  return labels;
}

function parseValue(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

/** A family, and a function that reads a sample's value at scrape time (`nowMs`: monotonic); `undefined` omits the sample. */
type LiveFamily<T extends { readonly labels: Labels }> = readonly [
  family: FamilyDescription,
  readValue: (sample: T, nowMs: number) => number | undefined,
];

interface Family {
  readonly index: number;
  description: FamilyDescription;
}

/** Approximate length of the yielded pieces in characters. */
const CHUNK_LENGTH = 16 * 1024;
const NONE: ReadonlySet<string> = new Set();
const OWN_PART = 'exposition';

/** Omitted series of a router. */
export const SERIES_DROPPED: FamilyDescription = {
  name: 'router_series_dropped',
  help: `Series that are omitted, because the router has more than ${SERIES_PER_ROUTER_MAX} or because they are duplicates.`,
  type: 'gauge',
};

/**
 * The series of all routers, rendered when they change and joined at a scrape. A router's values come in parts (one status resource is a
 * part) that are replaced as a whole, so that a part which is not renewed expires on its own.
 */
export class FleetExposition {
  readonly #families = new Map<string, Family>();
  readonly #routers = new Map<string, RouterSeries>();
  #sortedNames: readonly string[] | undefined;

  /** Replaces one part of the agent's metrics about a router. It is served until it is replaced. */
  publish(router: RouterIdentity, part: string, families: readonly MetricFamily[]): void {
    this.#replace(this.#seriesOf(router), part, families, Infinity, Infinity);
  }

  /**
   * Replaces one part of a router's own values. Duplicates and series beyond the limit per router are omitted and counted in {@link
   * SERIES_DROPPED}, plus the `dropped` series omitted by the caller. Served until `endMs` (monotonic) and {@link keepFresh}; with
   * `Infinity`, as long as the router is known, because the values identify it.
   */
  publishValues(
    router: RouterIdentity,
    part: string,
    families: readonly MetricFamily[],
    endMs: number,
    dropped = 0,
  ): void {
    const series = this.#seriesOf(router);
    const room = SERIES_PER_ROUTER_MAX - series.count + (series.parts.get(part)?.count ?? 0);
    this.#replace(series, part, families, endMs, room, dropped);
    if (series.dropped === series.shownDropped) return;
    series.shownDropped = series.dropped;
    this.publish(router, OWN_PART, [{ ...SERIES_DROPPED, samples: [{ labels: {}, value: series.dropped }] }]);
  }

  /** Lists the families of one part, expired or not, without the router's own labels. */
  listValues({ name, labels }: RouterIdentity, part: string): readonly MetricFamily[] {
    const series = this.#routers.get(name);
    const wanted = series?.parts.get(part);
    if (!series || !wanted) return [];
    const common = { router: name, ...labels };
    return [...this.#families.values()].flatMap(({ index, description }) => {
      const lines = series.readText(index, wanted);
      return lines === '' ? [] : [{ ...description, samples: parseSeries(lines, common) }];
    });
  }

  /** Returns true if a part exists and none of its series was omitted. */
  isWhole({ name }: RouterIdentity, part: string): boolean {
    return this.#routers.get(name)?.parts.get(part)?.dropped === 0;
  }

  /** Extends the expiry of a part. */
  renewValues({ name }: RouterIdentity, part: string, endMs: number): void {
    const known = this.#routers.get(name)?.parts.get(part);
    if (known) known.expiresAtMs = endMs;
  }

  /** Marks a router as healthy: its values may be served until `untilMs` (monotonic). */
  keepFresh(router: RouterIdentity, untilMs: number): void {
    this.#seriesOf(router).freshUntilMs = untilMs;
  }

  /** Replaces families whose values are read at each scrape, so that values that change with every poll cost nothing until then. */
  publishLive<T extends { readonly labels: Labels }>(
    router: RouterIdentity,
    samples: readonly T[],
    families: readonly LiveFamily<T>[],
  ): void {
    const series = this.#seriesOf(router);
    const own = samples.map(({ labels }) => series.labels.shareOwn(labels));
    for (const [family, readValue] of families) series.setLive(this.#indexOf(family), { samples, own, readValue });
  }

  /** Adds `delta` to a counter; a `delta` of 0 creates the series. */
  add(router: RouterIdentity, family: FamilyDescription, labels: Labels, delta: number): void {
    const series = this.#seriesOf(router);
    series.addToCounter(this.#indexOf(family), series.labels.shareOwn(labels), delta);
  }

  /** Deletes the counters of a router in which a label has one of these values. */
  forgetCounters(name: string, label: string, values: readonly string[]): void {
    const marks = values.map((value) => `${label}="${escapeLabelValue(value)}"`);
    const isMeant = (own: string) =>
      marks.some((mark) => own.startsWith(mark) || own.includes(`,${mark}`) || own.includes(`{${mark}`));
    this.#routers.get(name)?.forgetCounters(isMeant);
  }

  /** Deletes everything about a router except its counters, for example when its settings change. */
  forgetValues(name: string): void {
    this.#routers.get(name)?.forgetValues();
  }

  /** Removes a router with all its series. */
  forget(name: string): void {
    this.#routers.delete(name);
  }

  /**
   * Yields what is valid at `nowMs` (monotonic) as text, families ordered by name; only of one router if `name` is given, and without the
   * families in `leftOut`. The caller adds the OpenMetrics end marker, because it may have more to write.
   */
  *render(
    format: ExpositionFormat,
    nowMs: number,
    name?: string,
    leftOut: ReadonlySet<string> = NONE,
  ): Generator<string> {
    let chunk = '';
    const take = () => {
      const taken = chunk;
      chunk = '';
      return taken;
    };
    this.#sortedNames ??= [...this.#families.keys()].toSorted();
    const one = name === undefined ? undefined : this.#routers.get(name);
    const routers = name === undefined ? this.#routers.values().toArray() : one ? [one] : [];
    for (const familyName of this.#sortedNames) {
      if (leftOut.has(familyName)) continue;
      const family = this.#families.get(familyName);
      if (!family) continue;
      let isBegun = false;
      for (const router of routers) {
        const lines = router.render(family.index, family.description, nowMs);
        if (lines === '') continue;
        if (!isBegun) chunk += renderHeader(family.description, format);
        isBegun = true;
        chunk += lines;
        if (chunk.length >= CHUNK_LENGTH) yield take();
      }
    }
    if (chunk !== '') yield take();
  }

  #replace(
    router: RouterSeries,
    partName: string,
    families: readonly MetricFamily[],
    expiresAtMs: number,
    room: number,
    droppedBefore = 0,
  ): void {
    const part = router.parts.get(partName) ?? { count: 0, dropped: 0, expiresAtMs };
    router.count -= part.count;
    router.dropped -= part.dropped;
    const rendered = new Set<number>();
    const ownLabels = new Map<Labels, string>();
    const ownOf = (labels: Labels): string => {
      let own = ownLabels.get(labels);
      if (own === undefined) {
        own = router.labels.renderOwn(labels);
        ownLabels.set(labels, own);
      }
      return own;
    };
    let left = Math.max(0, room);
    let dropped = droppedBefore;
    let count = 0;
    for (const family of families) {
      const index = this.#indexOf(family);
      const isMore = rendered.has(index);
      rendered.add(index);
      // Labels that differ only in unprintable characters are the same series, and a duplicate series breaks a scrape.
      const others = router.listSeries(index, isMore ? undefined : part);
      const hasOthers = others.length > 0;
      const served = hasOthers || family.samples.length > 1 ? new Set(others) : undefined;
      // Without other parts, a sample's own labels identify the series, unless some replace labels of the router.
      const isAlone = !hasOthers && !family.samples.some(({ labels }) => ownOf(labels).startsWith('{'));
      const pieces = isMore ? [router.readText(index, part)] : [];
      for (const { labels, value } of family.samples) {
        const own = ownOf(labels);
        const series = isAlone ? own : router.labels.joinSeries(family.name, own);
        if (left === 0 || served?.has(series)) {
          dropped++;
          continue;
        }
        served?.add(series);
        router.labels.addLine(pieces, family.name, own, value);
        left--;
        count++;
      }
      // Not with `+`: V8 keeps the result as a tree of pieces, which takes four times as much memory.
      router.writeText(index, part, pieces.join(''));
    }
    router.removeTexts(part, rendered);
    // A router may invent new part names again and again, so an empty part is deleted.
    if (families.length === 0 && dropped === 0) {
      router.parts.delete(partName);
      return;
    }
    Object.assign(part, { count, dropped, expiresAtMs });
    router.parts.set(partName, part);
    router.count += count;
    router.dropped += dropped;
  }

  #indexOf({ name, help, type, isLasting = false }: FamilyDescription): number {
    let family = this.#families.get(name);
    if (!family) {
      family = { index: this.#families.size, description: { name, help, type, isLasting } };
      this.#families.set(name, family);
      this.#sortedNames = undefined;
    }
    // A reload may change the description of a family.
    const { description } = family;
    if (description.help !== help || description.type !== type || description.isLasting !== isLasting) {
      family.description = { name, help, type, isLasting };
    }
    return family.index;
  }

  #seriesOf(router: RouterIdentity): RouterSeries {
    const series = this.#routers.get(router.name) ?? new RouterSeries(new RouterLabels(router));
    this.#routers.set(router.name, series);
    return series;
  }
}

/** Creates a family from pairs of labels and value. */
export function toFamily(
  { name, help, type }: FamilyDescription,
  samples: readonly (readonly [Labels, number])[],
): MetricFamily {
  return { name, help, type, samples: samples.map(([labels, value]) => ({ labels, value })) };
}
