import type { FamilyDescription, Labels, MetricFamily, RouterIdentity } from '../model/index.ts';
import { type ExpositionFormat, escapeLabelValue, RouterLabels, renderHeader, renderValue } from './text.ts';

/** Seconds since moments on the monotonic clock; computed at each scrape, so that the age keeps growing. */
export interface AgeFamily {
  readonly name: string;
  readonly help: string;
  /** Samples whose `labels` are the same object as in the previous publication are not rendered again. */
  readonly samples: readonly { readonly labels: Labels; readonly sinceMs: number }[];
}

/** End of the time for which values of a router are served. */
export type ValuesEnd =
  /** For as long as the router is known: these values identify it. */
  | 'never'
  /** Until this moment on the monotonic clock, and no longer than {@link FleetExposition.keepFresh} allows. */
  | number;

/** Rendered text of one family in one part of one router. */
interface ReadyText {
  readonly lines: string;
  readonly count: number;
  expiresAtMs: number;
}

/** All series of one router in one family. */
interface FamilySeries {
  readonly router: RouterSeries;
  readonly parts: Map<string, ReadyText>;
  ages: readonly { readonly labels: Labels; readonly series: string; readonly sinceMs: number }[];
  readonly counters: Map<string, number>;
}

interface RouterSeries {
  readonly identity: RouterIdentity;
  readonly labels: RouterLabels;
  freshUntilMs: number;
  readonly parts: Map<string, Part>;
  /** Sums over all parts. */
  count: number;
  dropped: number;
  /** Value of {@link SERIES_DROPPED}; `undefined` while it is not shown. */
  shownDropped: number | undefined;
}

/** Extent of one part of a router. */
interface Part {
  readonly families: readonly string[];
  /** Number of its series. */
  readonly count: number;
  /** Number of series that were left out. */
  readonly dropped: number;
}

interface Family {
  description: FamilyDescription;
  readonly routers: Map<string, FamilySeries>;
}

/**
 * Limit of the series of one router, and of the series of one of its counters: ten times what a fully equipped device
 * has.
 */
const SERIES_PER_ROUTER_MAX = 2000;
/** Approximate length of the pieces of text in characters. */
const CHUNK_LENGTH = 64 * 1024;
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

  /** Returns true if a part exists, and nothing of it was left out. */
  isWhole({ name }: RouterIdentity, part: string): boolean {
    return this.#routers.get(name)?.parts.get(part)?.dropped === 0;
  }

  /** Serves the values of a part until another moment. */
  renewValues(router: RouterIdentity, part: string, end: ValuesEnd): void {
    const expiresAtMs = end === 'never' ? Infinity : end;
    for (const name of this.#routers.get(router.name)?.parts.get(part)?.families ?? []) {
      const text = this.#families.get(name)?.routers.get(router.name)?.parts.get(part);
      if (text) text.expiresAtMs = expiresAtMs;
    }
  }

  /** Marks a router as healthy: its values may be served until this moment on the monotonic clock. */
  keepFresh(router: RouterIdentity, untilMs: number): void {
    this.#seriesOf(router).freshUntilMs = untilMs;
  }

  /** Replaces the ages of one family of a router. */
  publishAges(router: RouterIdentity, family: AgeFamily): void {
    const target = this.#familySeries(this.#seriesOf(router), { ...family, type: 'gauge' });
    const rendered = new Map(target.ages.map(({ labels, series }) => [labels, series]));
    target.ages = family.samples.map(({ labels, sinceMs }) => ({
      labels,
      series: rendered.get(labels) ?? target.router.labels.renderSeries(family.name, labels),
      sinceMs,
    }));
  }

  /** Adds `delta` to a counter of a router; a `delta` of 0 creates the series. */
  add(router: RouterIdentity, family: FamilyDescription, labels: Labels, delta: number): void {
    const { counters, router: owner } = this.#familySeries(this.#seriesOf(router), family);
    const own = owner.labels.renderSeries(family.name, labels);
    // Names of logs come from the router. If there are too many, their counts are added up in the shared series.
    const isTooMany = !counters.has(own) && counters.size >= SERIES_PER_ROUTER_MAX;
    const series = isTooMany ? owner.labels.renderSeries(family.name, {}) : own;
    counters.set(series, (counters.get(series) ?? 0) + delta);
  }

  /** Forgets the counters of a router that have one of these values of a label. */
  forgetCounters(name: string, label: string, values: readonly string[]): void {
    const marks = values.map((value) => `${label}="${escapeLabelValue(value)}"`);
    for (const { routers } of this.#families.values()) {
      const counters = routers.get(name)?.counters;
      for (const series of counters?.keys() ?? []) {
        if (marks.some((mark) => series.includes(`,${mark}`) || series.includes(`{${mark}`))) counters?.delete(series);
      }
    }
  }

  /** Forgets everything about a router except its counters, for example when its settings change. */
  forgetValues(name: string): void {
    const router = this.#routers.get(name);
    if (!router) return;
    for (const part of router.parts.keys()) this.#removePart(router, part);
    router.shownDropped = undefined;
    for (const { routers } of this.#families.values()) {
      const series = routers.get(name);
      if (series) series.ages = [];
    }
  }

  /** Removes a router and all its series. */
  forget(name: string): void {
    this.#routers.delete(name);
    for (const { routers } of this.#families.values()) routers.delete(name);
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
    this.#sortedNames ??= [...this.#families.keys()].toSorted();
    for (const familyName of this.#sortedNames) {
      if (leftOut.has(familyName)) continue;
      const family = this.#families.get(familyName);
      if (!family) continue;
      const one = name === undefined ? undefined : family.routers.get(name);
      let isBegun = false;
      for (const series of name === undefined ? family.routers.values() : one ? [one] : []) {
        const lines = renderFamilySeries(series, nowMs);
        if (lines === '') continue;
        if (!isBegun) chunk += renderHeader(family.description, format);
        isBegun = true;
        chunk += lines;
        if (chunk.length < CHUNK_LENGTH) continue;
        yield chunk;
        chunk = '';
      }
    }
    if (chunk !== '') yield chunk;
  }

  #replace(
    router: RouterSeries,
    part: string,
    families: readonly MetricFamily[],
    expiresAtMs: number,
    room: number,
    droppedBefore = 0,
  ): void {
    this.#removePart(router, part);
    let left = room;
    let dropped = droppedBefore;
    let count = 0;
    for (const family of families) {
      const target = this.#familySeries(router, family);
      // Labels that differ only in unprintable characters are the same series, and a duplicate series breaks a scrape.
      const values = new Map<string, string>();
      for (const { labels, value } of family.samples) {
        const series = router.labels.renderSeries(family.name, labels);
        if (values.has(series)) dropped++;
        else values.set(series, renderValue(value));
      }
      for (const other of listSeries(target.parts)) if (values.delete(other)) dropped++;
      const lines = [...values].slice(0, Math.max(0, left)).map(([series, value]) => `${series} ${value}\n`);
      dropped += values.size - lines.length;
      left -= lines.length;
      count += lines.length;
      const before = target.parts.get(part);
      target.parts.set(part, {
        lines: (before?.lines ?? '') + lines.join(''),
        count: (before?.count ?? 0) + lines.length,
        expiresAtMs,
      });
    }
    // A part without anything is gone: a router may have other names of parts again and again.
    if (families.length === 0 && dropped === 0) return;
    router.parts.set(part, { families: [...new Set(families.map(({ name }) => name))], count, dropped });
    router.count += count;
    router.dropped += dropped;
  }

  #removePart(router: RouterSeries, part: string): void {
    const known = router.parts.get(part);
    if (!known) return;
    for (const name of known.families) this.#families.get(name)?.routers.get(router.identity.name)?.parts.delete(part);
    router.parts.delete(part);
    router.count -= known.count;
    router.dropped -= known.dropped;
  }

  #familySeries(router: RouterSeries, { name, help, type }: FamilyDescription): FamilySeries {
    let family = this.#families.get(name);
    if (!family) {
      family = { description: { name, help, type }, routers: new Map() };
      this.#families.set(name, family);
      this.#sortedNames = undefined;
    }
    // A reload may change the description of a family.
    if (family.description.help !== help || family.description.type !== type) family.description = { name, help, type };
    let series = family.routers.get(router.identity.name);
    if (!series) {
      series = { router, parts: new Map(), ages: [], counters: new Map() };
      family.routers.set(router.identity.name, series);
    }
    return series;
  }

  #seriesOf(router: RouterIdentity): RouterSeries {
    const known = this.#routers.get(router.name);
    if (known) return known;
    const series: RouterSeries = {
      identity: router,
      labels: new RouterLabels(router),
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

function renderFamilySeries({ router, parts, ages, counters }: FamilySeries, nowMs: number): string {
  let lines = '';
  for (const part of parts.values()) {
    const isServed = part.expiresAtMs === Infinity || (nowMs < part.expiresAtMs && nowMs < router.freshUntilMs);
    if (isServed) lines += part.lines;
  }
  for (const { series, sinceMs } of ages) lines += `${series} ${renderValue((nowMs - sinceMs) / 1000)}\n`;
  for (const [series, value] of counters) lines += `${series} ${renderValue(value)}\n`;
  return lines;
}

/** Yields the existing series; a family rarely has a second part. */
function* listSeries(parts: ReadonlyMap<string, ReadyText>): Generator<string> {
  for (const { lines } of parts.values()) {
    for (const line of lines.split('\n')) if (line !== '') yield line.slice(0, line.lastIndexOf(' '));
  }
}

/** A family with samples, each as its labels and its value. */
export function toFamily(
  { name, help, type }: FamilyDescription,
  samples: readonly (readonly [Labels, number])[],
): MetricFamily {
  return { name, help, type, samples: samples.map(([labels, value]) => ({ labels, value })) };
}
