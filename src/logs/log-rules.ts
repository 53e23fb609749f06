/** A log rule whose pattern is compiled: what it finds in a line becomes a number. */
export interface LogRule {
  /** Name of the metric. */
  readonly metric: string;
  /** `counter` adds the value, `gauge` sets it. */
  readonly kind: 'counter' | 'gauge';
  /** Whether lines of this component are looked at. */
  readonly isMeant: (component: string) => boolean;
  /** The named groups of the pattern where it matches a message; `undefined` where it does not. Must end in linear time. */
  readonly match: (message: string) => Readonly<Record<string, string | undefined>> | undefined;
  /** Names of groups that become labels. */
  readonly labels: readonly string[];
  /** Group whose text is the value; without one it is 1. */
  readonly value?: string | undefined;
}

/** What a rule has found in one line. */
export interface RuleHit {
  readonly metric: string;
  readonly kind: LogRule['kind'];
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Series of one rule; further ones are one series whose labels say {@link OTHER}. */
const SERIES_MAX = 100;
const LABEL_LENGTH_MAX = 128;
const OTHER = 'other';

/** Applies the log rules to the lines of one router, and bounds the series that come of it. */
export class LogRules {
  readonly #rules: readonly LogRule[];
  readonly #seriesMax: number;
  /** Labels of the series of each metric, by what they are of. */
  readonly #series = new Map<string, Map<string, RuleHit['labels']>>();

  constructor(rules: readonly LogRule[], seriesMax: number = SERIES_MAX) {
    this.#rules = rules;
    this.#seriesMax = seriesMax;
  }

  /** What the rules find in a line. A value that is no number finds nothing. */
  evaluate(component: string, message: string): RuleHit[] {
    return this.#rules.flatMap((rule) => {
      const groups = rule.isMeant(component) ? rule.match(message) : undefined;
      if (!groups) return [];
      const text = rule.value === undefined ? '1' : (groups[rule.value] ?? '');
      const value = text.trim() === '' ? Number.NaN : Number(text);
      if (!Number.isFinite(value) || (rule.kind === 'counter' && value < 0)) return [];
      return [{ metric: rule.metric, kind: rule.kind, labels: this.#bound(rule, groups), value }];
    });
  }

  #bound(rule: LogRule, groups: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
    const labels = Object.fromEntries(
      rule.labels.map((name) => [name, (groups[name] ?? '').slice(0, LABEL_LENGTH_MAX)]),
    );
    const key = JSON.stringify(labels);
    const series = this.#series.get(rule.metric) ?? new Map<string, RuleHit['labels']>();
    this.#series.set(rule.metric, series);
    const known = series.get(key);
    if (known) return known;
    if (series.size >= this.#seriesMax) return Object.fromEntries(rule.labels.map((name) => [name, OTHER]));
    // A copy: what a pattern finds is a part of the text of a whole chunk, and would keep that as long as there is a series.
    const copy = JSON.parse(key) as RuleHit['labels'];
    series.set(key, copy);
    return copy;
  }
}
