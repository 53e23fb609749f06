import type { MetricType } from './sample.ts';

/**
 * A declarative mapping: which resources of a router are read, how often, and which metrics their documents become. Shipped
 * modules and those of the configuration have the same format and pass the same checks, which are done when one of these
 * exists.
 */
export interface ModuleDefinition {
  readonly name: string;
  /** One sentence for the reference; empty when the module has none. */
  readonly help: string;
  /** How often its resources are read; absent: as often as the router's status. Milliseconds. */
  readonly intervalMs?: number | undefined;
  /** Not more often than this, and not more often than the router's status. Milliseconds. Not beside `intervalMs`. */
  readonly minIntervalMs?: number | undefined;
  /** Whether the values say who the router is: they are then served for as long as it is configured. */
  readonly isIdentity: boolean;
  readonly resources: readonly ResourceDefinition[];
  /** Readings that are more than one document to metrics; shipped modules only, and then without `resources`. */
  readonly reader?: ModuleReader | undefined;
}

/** `configuration` counts entries and notices changes; `log_files` counts the files of the logs. */
export type ModuleReader = 'configuration' | 'log_files';

/** One status resource, or a family of them. */
export interface ResourceDefinition {
  /**
   * Below `/status/`, as in `sysstat/wan`, or with a leading slash below the interface's root, as in `/profiles`. One `*` in
   * the first segment stands for the number of a slot, as in `lte*` or `dsl*` in `dsl5/status`.
   */
  readonly path: string;
  /** Absent on some devices: then no failure. */
  readonly isOptional: boolean;
  /** Steps to the rows: field names, and after `[]` the rows of each row, as in `status.unique`, `status.list[].sublist`. */
  readonly each: string;
  /** Label names to {@link MetricDefinition.labels sources}; of all metrics of the resource. */
  readonly labels: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricDefinition[];
}

/** Where a fact about a field comes from: a document of the vendor, a real device, or reasoning. */
export type FieldSource = 'documented' | 'observed' | 'inferred';

/**
 * How a text becomes a number. Without a form, whatever it looks like: a number with the declared unit, hexadecimal with
 * `0x`, a percentage (to a ratio), a duration (to seconds), a date (to Unix seconds in the router's zone). With one, only
 * that form counts, and a value of another known form belongs to another metric.
 */
export type ValueForm =
  | 'number'
  | 'percentage'
  | 'duration'
  | 'date'
  /** A date, as seconds that it is ahead of the clock of this machine. */
  | 'clock_offset'
  /** Several numbers with blanks or commas between them; `part` chooses. */
  | 'list'
  /** Two numbers with a slash between them and the unit after the last or both; `part` chooses. */
  | 'fraction';

/**
 * Texts that are a value in one row and "unknown" in another: the 0 of a modem that is off is no temperature. One of `values`
 * gives no sample when each of `fields` that the row has holds one of its texts, or is empty or `---`.
 */
export interface NullCondition {
  readonly values: readonly string[];
  /** Texts that mean "unknown", by the field of the same row. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
}

export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /**
   * Field that holds the value; absent only for `info`. One `*` stands for anything, as in `input_*`: each field that fits
   * gives a sample, and `$match` is what the star stood for.
   */
  readonly value?: string | undefined;
  /** Unit in the text, as in `V`; SI prefixes before it are understood, and the number becomes base units. */
  readonly unit?: string | undefined;
  /** Whether `kB`, `MB`, … in the text are powers of 1024, as they are for memory. */
  readonly hasBinaryPrefixes?: boolean | undefined;
  readonly form?: ValueForm | undefined;
  /** From 1. */
  readonly part?: number | undefined;
  /** Texts that mean "unknown" or "none" and give no sample. */
  readonly nullValues: readonly string[];
  /** Texts that mean the same only in a row that says nothing. */
  readonly nullWhen?: NullCondition | undefined;
  /** Texts to values; `*` is any other text. */
  readonly map?: Readonly<Record<string, number>> | undefined;
  /** `stateset`: the texts that are expected, each a value of the label {@link stateLabel}. */
  readonly states?: readonly string[] | undefined;
  /** Label of a state set; `state` unless it says otherwise. */
  readonly stateLabel: string;
  /**
   * Label names to sources: a field of the row, `..field` of the row around it, `$resource`, `$slot` (digits at the end of the
   * resource's first segment), `$index` (place of the row, from 1), `$match`, or a fixed text after `=`.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** Absent for user modules that do not say. */
  readonly source?: FieldSource | undefined;
}
