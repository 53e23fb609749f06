import type { MetricType } from './sample.ts';

/**
 * A declarative mapping: which resources of a router are read, how often, and which metrics their documents become.
 * Shipped modules and those of the configuration have the same format and pass the same checks before they become a
 * `ModuleDefinition`.
 */
export interface ModuleDefinition {
  readonly name: string;
  /** One sentence for the reference; empty if the module has none. */
  readonly help: string;
  /** Interval between reads of its resources, in milliseconds. Default: the router's status interval. */
  readonly intervalMs?: number | undefined;
  /**
   * Lower bound of the interval, in milliseconds: the module is read no more often than this and no more often than the
   * router's status. Mutually exclusive with `intervalMs`.
   */
  readonly minIntervalMs?: number | undefined;
  /** True if the values identify the router: they are then served for as long as the router is configured. */
  readonly isIdentity: boolean;
  readonly resources: readonly ResourceDefinition[];
  /**
   * Reads what is more than a mapping from one document to metrics. Shipped modules only, and then without `resources`.
   */
  readonly reader?: ModuleReader | undefined;
}

/** `configuration` counts entries and detects changes; `log_files` counts log files. */
export type ModuleReader = 'configuration' | 'log_files';

/** One status resource, or a family of them. */
export interface ResourceDefinition {
  /**
   * Path below `/status/`, such as `sysstat/wan`, or with a leading slash below the interface's root, such as
   * `/profiles`. One `*` in the first segment stands for a slot number: `lte*` or `dsl*` in `dsl5/status`.
   */
  readonly path: string;
  /** True if some devices lack the resource: its absence is then not a failure. */
  readonly isOptional: boolean;
  /**
   * Path to the rows: field names, with `[]` to iterate over a list, as in `status.unique` or `status.list[].sublist`.
   */
  readonly each: string;
  /** Labels of all metrics of the resource: label names to {@link MetricDefinition.labels sources}. */
  readonly labels: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricDefinition[];
}

/** Evidence for a field: the vendor's documentation, a real device, or inference. */
export type FieldSource = 'documented' | 'observed' | 'inferred';

/**
 * How text becomes a number. If absent, the form is detected: a number with the declared unit, hexadecimal with `0x`, a
 * percentage (to a ratio), a duration (to seconds), a date (to Unix seconds in the router's zone). If given, only that
 * form is accepted, and a value of another known form belongs to another metric.
 */
export type ValueForm =
  | 'number'
  | 'percentage'
  | 'duration'
  | 'date'
  /** A date, converted to the seconds by which it is ahead of this machine's clock. */
  | 'clock_offset'
  /** Several numbers separated by spaces or commas; `part` selects one. */
  | 'list'
  /** Two numbers separated by a slash, with the unit after the last or both; `part` selects one. */
  | 'fraction';

/**
 * Texts that are a value in one row and mean "unknown" in another: 0 from a modem that is off is not a temperature. A
 * text in `values` gives no sample if each of `fields` present in the row holds one of its texts, is empty or is `---`.
 */
export interface NullCondition {
  readonly values: readonly string[];
  /** Field names of the same row, to the texts that mean "unknown". */
  readonly fields: Readonly<Record<string, readonly string[]>>;
}

export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /**
   * Field that holds the value; absent only for `info`. One `*` matches any text, as in `input_*`: each matching field
   * gives a sample, and `$match` is the matched text.
   */
  readonly value?: string | undefined;
  /** Unit in the text, such as `V`. SI prefixes before it are understood and the number is converted to base units. */
  readonly unit?: string | undefined;
  /** True if `kB`, `MB`, … in the text are powers of 1024, as they are for memory. */
  readonly hasBinaryPrefixes?: boolean | undefined;
  readonly form?: ValueForm | undefined;
  /** Number of the selected part, from 1. */
  readonly part?: number | undefined;
  /** Texts that mean "unknown" or "none" and give no sample. */
  readonly nullValues: readonly string[];
  /** Texts that mean "unknown" only under a condition on the row. */
  readonly nullWhen?: NullCondition | undefined;
  /** Texts to values; `*` matches any other text. */
  readonly map?: Readonly<Record<string, number>> | undefined;
  /** `stateset`: the expected texts, each a value of the label {@link stateLabel}. */
  readonly states?: readonly string[] | undefined;
  /** Label name of a state set. Default `state`. */
  readonly stateLabel: string;
  /**
   * Label names to sources: a field of the row, `..field` of the enclosing row, `$resource`, `$slot` (digits at the end
   * of the resource's first segment), `$index` (row number, from 1), `$match`, or fixed text after `=`.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** Evidence for the field; absent if a user module does not state it. */
  readonly source?: FieldSource | undefined;
}
