import { z } from 'zod';
import { parseDuration, renderDuration } from '../../base/index.ts';
import {
  type ConfigFile,
  choice,
  compileAt,
  duration,
  findNameFault,
  findNearest,
  flag,
  globs,
  help,
  type KeyPath,
  LABEL_CHARS_MAX,
  labelName,
  METRIC_LABELS_MAX,
  metricName,
  type Place,
  parsed,
  type Settled,
  type SoundOf,
  section,
  text,
} from '../../settings/index.ts';

/** Start of reading on first contact with a log. */
export type LogStart = 'all' | 'now' | { readonly backMs: number };

/** Bounds of `backMs`: the error of a clock, and longer than most routers keep logs. Milliseconds. */
const START_BACK_MS_MIN = 1000;
const START_BACK_MS_MAX = 10 * 365 * 86_400_000;
const START = `"all", "now", or a duration with its unit from ${renderDuration(START_BACK_MS_MIN)} to ${renderDuration(START_BACK_MS_MAX)}, such as 12h or 30d`;

function parseStart(value: string): LogStart | undefined {
  if (value === 'all' || value === 'now') return value;
  const backMs = parseDuration(value);
  const isSound = backMs !== undefined && backMs >= START_BACK_MS_MIN && backMs <= START_BACK_MS_MAX;
  return isSound ? { backMs } : undefined;
}

function renderStart(start: LogStart): string {
  return typeof start === 'string' ? start : renderDuration(start.backMs);
}

/** Schema of `logs` of a router. */
export const logsSchema = section('How the logs of the router are read. Without a sink, logs are not read.', {
  enabled: flag({ description: 'Set to `false` to read no logs.' }).prefault(true),
  // Half the poll interval, because log lines are wanted sooner than metrics.
  interval: duration({ description: 'Interval between reads.' }).prefault('30s'),
  start: parsed(
    {
      description:
        'Start of reading on first contact with a log: `all` lines that the router still has, only lines from `now` on, or a duration back from now, such as `30d`.',
      kind: '`all`, `now`, duration',
    },
    START,
    parseStart,
    renderStart,
  ).prefault('all'),
  components: globs('Globs of the components to read; a leading `!` excludes.').prefault(['*']),
});

/** Settings of `logs`. At least one glob of `components` includes. */
export type LogSettings = Settled<z.output<typeof logsSchema>>;

/** Each rule scans every line of its components. */
export const LOG_RULES_MAX = 100;
/** Each pattern scans every line. */
export const REDACT_MAX = 100;
/** A message may contain thousands of replacements. */
const REPLACEMENT_CHARS_MAX = 64;
const REPLACEMENT_DEFAULT = '[redacted]';

/** Entry in the list that stands for all shipped rules. */
export const SHIPPED_RULES_WORD = 'default';

const RULES = `a list of at most ${LOG_RULES_MAX} log rules`;
const RULE = `a map of keys, or "${SHIPPED_RULES_WORD}" for the shipped log rules`;
const LABELS = `a list of at most ${METRIC_LABELS_MAX} groups of the pattern`;
const LABEL_VALUE = `text of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;
const GROUP = 'the name of a group of the pattern';

const ruleLabel = labelName.refine((label) => label !== 'component', {
  error: 'a label name that the exporter does not use itself',
});

/** Schema of one log rule. */
export const ruleSchema = section('One log rule.', {
  name: metricName(
    'Name of the metric. A counter ends in `_total`. Several rules may share one: they then add to the same series.',
  ),
  help: help('Help text of the metric. The same in every rule with this metric.'),
  type: choice(
    {
      description:
        '`counter`: the lines that match are counted, or their values added. `gauge`: the value of the last line that matched; lines read late, behind newer ones (flags `backfill` and `late`), do not change it.',
    },
    ['gauge', 'counter'],
  ),
  components: globs('Globs of the components whose lines are searched; a leading `!` excludes.').prefault(['*']),
  pattern: text({
    description:
      'Searched for in the message, in the syntax of RE2. `(?P<name>…)` names a group, `(?i)` at the start ignores case.',
    kind: 'pattern',
  }),
  labels: z
    .array(ruleLabel, { error: LABELS })
    .max(METRIC_LABELS_MAX, { error: LABELS })
    .meta({
      description:
        'Groups of the pattern that become labels, in addition to `router` and `component`. A group that is not part of the match gives an empty label.',
      kind: 'list of names of groups',
    })
    .prefault([]),
  fixed_labels: z
    .record(ruleLabel, z.string({ error: LABEL_VALUE }).max(LABEL_CHARS_MAX, { error: LABEL_VALUE }), {
      error: 'a map of label names and values',
    })
    .refine((map) => Object.keys(map).length <= METRIC_LABELS_MAX, { error: `at most ${METRIC_LABELS_MAX} labels` })
    .meta({
      description: 'More labels, with the same value for every line, such as `{ result: failure }`.',
      kind: 'map of label names to texts',
    })
    .prefault({}),
  value: z
    .string({ error: GROUP })
    .min(1, { error: GROUP })
    .meta({
      description:
        'Group of the pattern that holds the value, a number. Required for a gauge; a counter counts 1 without it.',
      kind: 'name of a group',
    })
    .optional(),
});

const shippedRules = z.enum([SHIPPED_RULES_WORD], { error: RULE });
/** Schema of `log_rules`. */
export const logRulesSchema =
  // No default here: the reference could not show it, because items are parsed.
  z
    .array(z.union([shippedRules, ruleSchema], { error: RULE }), { error: RULES })
    .max(LOG_RULES_MAX, { error: RULES })
    .meta({
      description: `Rules that turn log lines into metrics. \`${SHIPPED_RULES_WORD}\` stands for the shipped rules; an empty list: none. Default: \`[${SHIPPED_RULES_WORD}]\`.`,
      kind: `list of \`${SHIPPED_RULES_WORD}\` and maps`,
    });

const REDACT = `a list of at most ${REDACT_MAX} patterns`;
const REDACTED = 'a pattern as text, or a map of keys with one';
const REPLACEMENT = `text of at most ${REPLACEMENT_CHARS_MAX} characters (a number needs quotes)`;

const redactedSchema = section('One pattern.', {
  pattern: text({
    description: 'In the syntax of RE2. Every match in a message is removed.',
    kind: 'pattern',
  }),
  replacement: z
    .string({ error: REPLACEMENT })
    .max(REPLACEMENT_CHARS_MAX, { error: REPLACEMENT })
    .meta({ description: 'Literal replacement.', kind: 'text' })
    .prefault(REPLACEMENT_DEFAULT),
});

const plainPattern = text({ description: 'Removed text.', kind: 'pattern' });
/** Schema of `redact`. */
export const redactSchema = z
  .array(z.union([plainPattern, redactedSchema], { error: REDACTED }), { error: REDACT })
  .max(REDACT_MAX, { error: REDACT })
  .meta({
    description:
      'Patterns that are removed from messages before they are stored, and before log rules search them. A plain text is a pattern.',
    kind: 'list of patterns and maps',
  });

/** A log rule. Its pattern compiles, and a gauge has a `value`. */
export type LogRuleSettings = Settled<z.output<typeof ruleSchema>>;

/** A pattern removed from messages. It compiles and does not match the empty text. */
export type RedactSettings = Settled<z.output<typeof redactedSchema>>;

/** The valid part of `log_rules`. */
export type WrittenRules = SoundOf<typeof logRulesSchema>;
type WrittenRule = Exclude<WrittenRules[number], string>;
type WrittenRedact = SoundOf<typeof redactSchema>;

/** Lists the labels of a rule, those from groups first. */
export function listLabels({ labels, fixed_labels }: LogRuleSettings): string[] {
  return [...labels, ...Object.keys(fixed_labels)];
}

/** Checks what the schema cannot express. */
export function checkLogRule(rule: WrittenRule, { file, path }: Place): void {
  const refuse = (keys: KeyPath, message: string, nearest?: string) =>
    file.faults.add([...path, ...keys], message, { nearest });
  const name = findNameFault(rule);
  if (name !== undefined) refuse(['name'], name);
  if (rule.type === 'gauge' && file.source.valueAt([...path, 'value']) === undefined) {
    refuse(['value'], 'Missing key; a log rule of type "gauge" needs it');
  }
  const labels = rule.labels ?? [];
  for (const [index, label] of labels.entries()) {
    if (labels.indexOf(label) !== index) refuse(['labels', index], `Duplicate label "${label}"`);
  }
  for (const label of Object.keys(rule.fixed_labels ?? {})) {
    if (!labels.includes(label)) continue;
    const message = `The label "${label}" is already taken from a group in "labels"`;
    file.faults.add([...path, 'fixed_labels', label], message, { aim: 'key' });
  }
  const pattern = compileAt(rule.pattern, { file, path: [...path, 'pattern'] });
  if (!pattern) return;
  const { groups } = pattern;
  const checkGroup = (group: string, keys: KeyPath) => {
    if (groups.includes(group)) return;
    const nearest = findNearest(group, groups);
    const there = groups.length === 0 ? 'it has no named groups, such as (?P<name>…)' : `it has: ${groups.join(', ')}`;
    const message = 'The pattern has no group of this name';
    refuse(keys, nearest === undefined ? `${message}; ${there}` : message, nearest);
  };
  for (const [index, label] of labels.entries()) checkGroup(label, ['labels', index]);
  if (rule.value !== undefined) checkGroup(rule.value, ['value']);
}

/** Checks the patterns of `redact` and fills in default replacements. */
export function resolveRedact(file: ConfigFile, written: WrittenRedact = []): RedactSettings[] {
  return written.flatMap((item, index) => {
    const { pattern: source, replacement } =
      typeof item === 'string' ? z.parse(redactedSchema, { pattern: item }) : item;
    const path = ['redact', index, ...(typeof item === 'string' ? [] : ['pattern'])];
    const pattern = compileAt(source, { file, path });
    if (!pattern || replacement === undefined) return [];
    if (pattern.match(''))
      file.faults.add(path, 'The pattern matches the empty text; it must match at least one character');
    return [{ pattern: pattern.source, replacement }];
  });
}
