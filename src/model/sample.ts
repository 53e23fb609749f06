/** Label names to values. Values are untrusted text until the exposition has escaped them. */
export type Labels = Readonly<Record<string, string>>;

/** One value of one series, without a timestamp. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * What a family is. `counter` names end in `_total`, `info` names in `_info` with the value 1. `stateset` is one series per
 * state, 1 for the state that applies.
 */
export type MetricType = 'gauge' | 'counter' | 'info' | 'stateset';

/** What a family is, wherever its samples come from. `name` is that of the samples, suffix included. */
export interface FamilyDescription {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
}

/** A metric family as OpenMetrics means it: one name, one help text, one type. */
export interface MetricFamily extends FamilyDescription {
  readonly samples: readonly Sample[];
}
