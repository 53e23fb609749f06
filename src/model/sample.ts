/** Label names to values. Values are untrusted text until the exposition escapes them. */
export type Labels = Readonly<Record<string, string>>;

/** One value of one series, without a timestamp. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * Type of a family. `counter` names end in `_total`, `info` names in `_info` with the value 1. `stateset` has one
 * series per state, with 1 for the current state.
 */
export type MetricType = 'gauge' | 'counter' | 'info' | 'stateset';

/**
 * Name, help and type of a family, wherever its samples come from. `name` is the name of the samples, suffix included.
 */
export interface FamilyDescription {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** True for a counter of the agent among the values of a router: it does not expire with them. Default false. */
  readonly isLasting?: boolean;
}

/** A metric family as defined by OpenMetrics: one name, one help text, one type. */
export interface MetricFamily extends FamilyDescription {
  readonly samples: readonly Sample[];
}
