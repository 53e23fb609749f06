/** What becomes a number of the lines of logs. */
export interface LogRuleSettings {
  /** Name of the metric. */
  readonly name: string;
  /** Help text of the metric. */
  readonly help: string;
  /** Type of the metric. */
  readonly type: 'counter' | 'gauge';
  /** Globs; a leading `!` excludes. At least one includes. */
  readonly components: readonly string[];
  /** In the syntax of RE2; it compiles. */
  readonly pattern: string;
  /** Groups of the pattern that become labels, beside `router` and `component`. */
  readonly labels: readonly string[];
  /** Labels with the same text on every series of the rule; none of them is among `labels`. */
  readonly fixedLabels: Readonly<Record<string, string>>;
  /** Group of the pattern that holds the value. Without one, which a gauge never is, every line counts 1. */
  readonly value?: string | undefined;
}

/** What is removed from messages. */
export interface RedactSettings {
  /** In the syntax of RE2; it compiles, and does not match nothing. */
  readonly pattern: string;
  /** What stands there instead, as it is written. */
  readonly replacement: string;
}
