/** Label names to values. Values are untrusted text until the exposition has escaped them. */
export type Labels = Readonly<Record<string, string>>;

/** One value of one series, without a timestamp. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A metric family as OpenMetrics means it: one name, one help text, one type. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly samples: readonly Sample[];
}
