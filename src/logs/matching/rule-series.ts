import type { RuleMatch } from './line-matcher.ts';

/** Series of one metric; further ones are one series whose labels say {@link OTHER}. */
const SERIES_MAX = 100;
const OTHER = 'other';

/** Bounds the series that the log rules make of the lines of one router. */
export class RuleSeries {
  readonly #seriesMax: number;
  /** Labels of the series of each metric, by these labels as JSON. */
  readonly #series = new Map<string, Map<string, RuleMatch['labels']>>();

  /** `seriesMax`: maximum number of series per metric. Default 100. */
  constructor(seriesMax: number = SERIES_MAX) {
    this.#seriesMax = seriesMax;
  }

  /** Returns the labels of the series to which a match belongs. */
  place({ metric, labels }: RuleMatch): RuleMatch['labels'] {
    const key = JSON.stringify(labels);
    const series = this.#series.get(metric) ?? new Map<string, RuleMatch['labels']>();
    this.#series.set(metric, series);
    const known = series.get(key);
    if (known) return known;
    if (series.size >= this.#seriesMax) return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
    // A copy: what a pattern finds is a part of the text of a whole chunk, and would keep that as long as there is a series.
    const copy = JSON.parse(key) as RuleMatch['labels'];
    series.set(key, copy);
    return copy;
  }
}
