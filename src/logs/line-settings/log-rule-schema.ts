import { z } from 'zod';
import type { Settled, SoundOf } from '../../settings/index.ts';
import {
  choice,
  globs,
  help,
  LABEL_CHARS_MAX,
  labelName,
  METRIC_LABELS_MAX,
  metricName,
  section,
  text,
} from '../../settings/index.ts';

/** Each looks at every line of its components. */
export const LOG_RULES_MAX = 100;
/** Each looks at every line. */
export const REDACT_MAX = 100;
/** A mark, not a text: a message may have thousands of them. */
const REPLACEMENT_CHARS_MAX = 64;
const REPLACEMENT_DEFAULT = '[redacted]';

/** Stands in the list for all shipped rules. */
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
/** The key `log_rules`. */
export const logRulesSchema =
  // A default would be lost on the way to the reference, because parts of the items are parsed.
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

/** Schema of one pattern with its replacement. */
export const redactedSchema = section('One pattern.', {
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
/** The key `redact`. */
export const redactSchema = z
  .array(z.union([plainPattern, redactedSchema], { error: REDACTED }), { error: REDACT })
  .max(REDACT_MAX, { error: REDACT })
  .meta({
    description:
      'Patterns that are removed from messages before they are stored, and before log rules search them. A plain text is a pattern.',
    kind: 'list of patterns and maps',
  });

/** A rule that turns log lines into a metric; its pattern compiles, and a gauge has a `value`. */
export type LogRuleSettings = Settled<z.output<typeof ruleSchema>>;

/** A pattern that is removed from messages. It compiles, and does not match the empty text. */
export type RedactSettings = Settled<z.output<typeof redactedSchema>>;

/** The valid part of the key `log_rules`. */
export type WrittenRules = SoundOf<typeof logRulesSchema>;
/** The valid keys of a log rule. */
export type WrittenRule = Exclude<WrittenRules[number], string>;
/** The valid part of the key `redact`. */
export type WrittenRedact = SoundOf<typeof redactSchema>;
