import type { FamilyDescription, Labels, MetricFamily, RouterIdentity, Sample } from '../model/index.ts';
import {
  addToCounter,
  forgetCounters,
  type LiveSample,
  type LiveSeries,
  listSeries,
  listTexts,
  openFamily,
  type RouterSeries,
  readText,
  removeTexts,
  renderFamilySeries,
  SERIES_PER_ROUTER_MAX,
  writeText,
} from './router-series.ts';
import { type ExpositionFormat, escapeLabelValue, RouterLabels, renderHeader } from './text.ts';

const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)",?/y;

/** Parses lines that this module has rendered, without the labels that are the same for all series of a router. */
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

/** End of the time for which values of a router are served. */
export type ValuesEnd =
  /** For as long as the router is known: these values identify it. */
  | 'never'
  /** Until this moment on the monotonic clock, and no longer than {@link FleetExposition.keepFresh} allows. */
  | number;

/**
 * A family, and what reads the value of a sample at a time on the monotonic clock: that of the scrape. `undefined`: the sample
 * is left out.
 */
export type LiveFamily<T extends LiveSample> = readonly [
  family: FamilyDescription,
  readValue: (sample: T, nowMs: number) => number | undefined,
];

interface Family {
  readonly index: number;
  description: FamilyDescription;
}

/** Approximate length of the pieces of text in characters: who writes them to bytes joins as many as it wants. */
const CHUNK_LENGTH = 16 * 1024;
const NONE: ReadonlySet<string> = new Set();
/** The part that holds the exposition's own metrics about a router. */
const OWN_PART = 'exposition';

/** Counts the series of a router that are not served. */
export const SERIES_DROPPED: FamilyDescription = {
  name: 'router_series_dropped',
  help: `Series that are omitted, because the router has more than ${SERIES_PER_ROUTER_MAX} or because they are duplicates.`,
  type: 'gauge',
};

/**
 * The series of all routers, rendered when they change and joined at a scrape. A scrape contacts no router. A router's
 * values come in parts (one status resource is a part) that are replaced as a whole, so that a part which is not
 * renewed can expire on its own.
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
   * Replaces one part of a router's own values. Duplicate series and series beyond the limit per router are left out
   * and counted in {@link SERIES_DROPPED}, together with the `dropped` series that the caller left out.
   */
  publishValues(
    router: RouterIdentity,
    part: string,
    families: readonly MetricFamily[],
    end: ValuesEnd,
    dropped = 0,
  ): void {
    const series = this.#seriesOf(router);
    const room = SERIES_PER_ROUTER_MAX - series.count + (series.parts.get(part)?.count ?? 0);
    this.#replace(series, part, families, end === 'never' ? Infinity : end, room, dropped);
    if (series.dropped === series.shownDropped) return;
    series.shownDropped = series.dropped;
    this.publish(router, OWN_PART, [{ ...SERIES_DROPPED, samples: [{ labels: {}, value: series.dropped }] }]);
  }

  /** Lists the families of one part of a router, also when they are no longer served; without the router's own labels. */
  listValues({ name, labels }: RouterIdentity, part: string): readonly MetricFamily[] {
    const series = this.#routers.get(name);
    const wanted = series?.parts.get(part);
    if (!series || !wanted) return [];
    const common = { router: name, ...labels };
    return [...this.#families.values()].flatMap(({ index, description }) => {
      const lines = readText(series, index, wanted);
      return lines === '' ? [] : [{ ...description, samples: parseSeries(lines, common) }];
    });
  }

  /** Returns true if a part exists, and nothing of it was left out. */
  isWhole({ name }: RouterIdentity, part: string): boolean {
    return this.#routers.get(name)?.parts.get(part)?.dropped === 0;
  }

  /** Serves the values of a part until another moment. */
  renewValues({ name }: RouterIdentity, part: string, end: ValuesEnd): void {
    const known = this.#routers.get(name)?.parts.get(part);
    if (known) known.expiresAtMs = end === 'never' ? Infinity : end;
  }

  /** Marks a router as healthy: its values may be served until this moment on the monotonic clock. */
  keepFresh(router: RouterIdentity, untilMs: number): void {
    this.#seriesOf(router).freshUntilMs = untilMs;
  }

  /**
   * Replaces the samples of families of a router whose values are read at each scrape. What changes with every poll costs
   * nothing until a scrape. The families share the samples, and the texts of their labels.
   */
  publishLive<T extends LiveSample>(
    router: RouterIdentity,
    samples: readonly T[],
    families: readonly LiveFamily<T>[],
  ): void {
    const series = this.#seriesOf(router);
    const own = samples.map(({ labels }) => series.labels.shareOwn(labels));
    for (const [family, readValue] of families) {
      const live: LiveSeries<T> = { samples, own, readValue };
      openFamily(series, this.#indexOf(family)).live = samples.length === 0 ? undefined : live;
    }
  }

  /** Adds `delta` to a counter of a router; a `delta` of 0 creates the series. */
  add(router: RouterIdentity, family: FamilyDescription, labels: Labels, delta: number): void {
    const series = this.#seriesOf(router);
    const target = openFamily(series, this.#indexOf(family));
    target.counters ??= { owns: [], values: [] };
    addToCounter(target.counters, series.labels.shareOwn(labels), delta);
  }

  /** Forgets the counters of a router that have one of these values of a label. */
  forgetCounters(name: string, label: string, values: readonly string[]): void {
    const marks = values.map((value) => `${label}="${escapeLabelValue(value)}"`);
    const isMeant = (own: string) =>
      marks.some((mark) => own.startsWith(mark) || own.includes(`,${mark}`) || own.includes(`{${mark}`));
    for (const series of this.#routers.get(name)?.families ?? []) {
      if (typeof series === 'object' && series.counters) forgetCounters(series.counters, isMeant);
    }
  }

  /** Forgets everything about a router except its counters, for example when its settings change. */
  forgetValues(name: string): void {
    const router = this.#routers.get(name);
    if (!router) return;
    for (const part of router.parts.values()) removeTexts(router, part);
    router.parts.clear();
    router.count = 0;
    router.dropped = 0;
    router.shownDropped = undefined;
    for (const series of router.families) if (typeof series === 'object') series.live = undefined;
  }

  /** Removes a router and all its series. */
  forget(name: string): void {
    this.#routers.delete(name);
  }

  /**
   * Yields everything valid at `nowMs` (monotonic) in pieces of text, families ordered by name; only those of one
   * router if `name` is given, and without the families in `leftOut`. The caller adds the OpenMetrics end marker,
   * because it may have more to write.
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
        const lines = renderFamilySeries(router, family.index, family.description, nowMs);
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
    // The samples of one row share their labels.
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
      const others = listTexts(router, index, isMore ? undefined : part);
      const hasOthers = others.length > 0;
      const served = hasOthers || family.samples.length > 1 ? new Set(others.flatMap(listSeries)) : undefined;
      // Among samples alone, their own labels tell the series, unless some replace labels of the router.
      const isAlone = !hasOthers && !family.samples.some(({ labels }) => ownOf(labels).startsWith('{'));
      const pieces = isMore ? [readText(router, index, part)] : [];
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
      // Not with `+`: what it makes is a tree of its pieces, which takes four times as much memory.
      writeText(router, index, part, pieces.join(''));
    }
    removeTexts(router, part, rendered);
    // A part without anything is gone: a router may have other names of parts again and again.
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
    const known = this.#routers.get(router.name);
    if (known) return known;
    const series: RouterSeries = {
      labels: new RouterLabels(router),
      families: [],
      owners: [],
      freshUntilMs: Infinity,
      parts: new Map(),
      count: 0,
      dropped: 0,
      shownDropped: undefined,
    };
    this.#routers.set(router.name, series);
    return series;
  }
}

/** A family with samples, each as its labels and its value. */
export function toFamily(
  { name, help, type }: FamilyDescription,
  samples: readonly (readonly [Labels, number])[],
): MetricFamily {
  return { name, help, type, samples: samples.map(([labels, value]) => ({ labels, value })) };
}
