import type { Labels, MetricFamily, RouterIdentity } from '../model/index.ts';
import { renderHeader, renderSeries, renderValue, toSeriesLabels } from './text.ts';

/** What a family is, wherever its samples come from. */
export type FamilyDescription = Pick<MetricFamily, 'name' | 'help' | 'type'>;

/** Seconds since moments on the monotonic clock; computed at each scrape, so that an age grows while nothing happens. */
export interface AgeFamily {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly { readonly labels: Labels; readonly sinceMs: number }[];
}

/** Text that stands ready, of one family and one part of one router. */
interface ReadyText {
  readonly lines: string;
  readonly expiresAtMs: number;
}

interface RouterSeries {
  readonly router: RouterIdentity;
  /** Part, then family. */
  readonly parts: Map<string, Map<string, ReadyText>>;
  readonly ages: Map<string, readonly { readonly series: string; readonly sinceMs: number }[]>;
  /** Family, then series. */
  readonly counters: Map<string, Map<string, number>>;
}

/**
 * The series of all routers, rendered when they change and joined when they are scraped. A scrape touches no router.
 *
 * A router's values come in parts that are replaced as a whole (one status resource is a part), so that a part which
 * is not renewed can run out by itself.
 */
export class FleetExposition {
  readonly #families = new Map<string, FamilyDescription>();
  readonly #routers = new Map<string, RouterSeries>();

  /** Replaces one part of a router's series. With `expiresAtMs` (monotonic) they are served no longer than that. */
  publish(router: RouterIdentity, part: string, families: readonly MetricFamily[], expiresAtMs = Infinity): void {
    const ready = new Map<string, ReadyText>();
    for (const family of families) {
      this.#describe(family);
      // Labels that differ in what cannot be written are the same series, and a series that comes twice breaks a scrape.
      const values = new Map(
        family.samples.map(({ labels, value }) => [
          renderSeries(family.name, toSeriesLabels(router, labels)),
          renderValue(value),
        ]),
      );
      const lines = [...values].map(([series, value]) => `${series} ${value}\n`);
      ready.set(family.name, { lines: lines.join(''), expiresAtMs });
    }
    this.#seriesOf(router).parts.set(part, ready);
  }

  /** Replaces the ages of one family of a router. */
  publishAges(router: RouterIdentity, family: AgeFamily): void {
    this.#describe({ ...family, type: 'gauge' });
    const samples = family.samples.map(({ labels, sinceMs }) => ({
      series: renderSeries(family.name, toSeriesLabels(router, labels)),
      sinceMs,
    }));
    this.#seriesOf(router).ages.set(family.name, samples);
  }

  /** Adds to a counter of a router; `delta` 0 makes the series exist. */
  add(router: RouterIdentity, family: FamilyDescription, labels: Labels, delta: number): void {
    this.#describe(family);
    const { counters } = this.#seriesOf(router);
    const series = renderSeries(family.name, toSeriesLabels(router, labels));
    const values = counters.get(family.name) ?? new Map<string, number>();
    counters.set(family.name, values.set(series, (values.get(series) ?? 0) + delta));
  }

  /** Forgets a router and all its series. */
  forget(name: string): void {
    this.#routers.delete(name);
  }

  /** The text format 0.0.4 of everything that is valid at `nowMs` (monotonic), families in the order of their names. */
  render(nowMs: number): string {
    const text: string[] = [];
    const names = [...this.#families.keys()].toSorted();
    for (const name of names) {
      const family = this.#families.get(name);
      const lines = this.#renderFamily(name, nowMs);
      if (family && lines.length > 0) text.push(renderHeader(name, family.help, family.type), ...lines);
    }
    return text.join('');
  }

  #renderFamily(name: string, nowMs: number): string[] {
    const lines: string[] = [];
    for (const { parts, ages, counters } of this.#routers.values()) {
      for (const part of parts.values()) {
        const ready = part.get(name);
        if (ready && ready.lines !== '' && ready.expiresAtMs > nowMs) lines.push(ready.lines);
      }
      for (const { series, sinceMs } of ages.get(name) ?? []) {
        lines.push(`${series} ${renderValue((nowMs - sinceMs) / 1000)}\n`);
      }
      for (const [series, value] of counters.get(name) ?? []) lines.push(`${series} ${renderValue(value)}\n`);
    }
    return lines;
  }

  #describe(family: FamilyDescription): void {
    if (!this.#families.has(family.name)) {
      this.#families.set(family.name, { name: family.name, help: family.help, type: family.type });
    }
  }

  #seriesOf(router: RouterIdentity): RouterSeries {
    const known = this.#routers.get(router.name);
    if (known) return known;
    const series: RouterSeries = { router, parts: new Map(), ages: new Map(), counters: new Map() };
    this.#routers.set(router.name, series);
    return series;
  }
}
