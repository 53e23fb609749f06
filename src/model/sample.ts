/** Label names to values. Values are untrusted text until the exposition escapes them. */
export type Labels = Readonly<Record<string, string>>;

/** One value of one series, without a timestamp. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * `counter` names end in `_total`, `info` names in `_info` with the value 1; `stateset` has one series per state, 1 for the current one.
 */
export type MetricType = 'gauge' | 'counter' | 'info' | 'stateset';

/** Description of a family. `name` is the name of the samples, suffix included. */
export interface FamilyDescription {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** True for a counter of the agent among a router's values: it does not expire with them. Default false. */
  readonly isLasting?: boolean;
}

/** A metric family with its samples. */
export interface MetricFamily extends FamilyDescription {
  readonly samples: readonly Sample[];
}
