import { z } from 'zod';
import {
  checked,
  choice,
  findNearest,
  help,
  LABEL_CHARS_MAX,
  labelName,
  METRIC_LABELS_MAX,
  metricName,
  type SoundOf,
  section,
  text,
  wholeNumber,
} from '../../settings/index.ts';
import { parseVersionRange } from '../mapping/device-condition.ts';
import { COUNT, FIELD_CHARS_MAX, isLabelSource, SOURCE_VARIABLES } from './grammar.ts';

/** Each is a series of every router that has the module. */
const METRIC_STATES_MAX = 64;
/** Texts of one field that have a meaning. */
const METRIC_TEXTS_MAX = 256;
/** Rows of pages are narrow. */
const TITLE_CHARS_MAX = 24;
/** The highest bit of the whole numbers that a double holds exactly. */
const VALUE_BIT_MAX = 52;
/** Numbers in one text. */
const VALUE_PART_MAX = 100;

const SOURCE =
  'where the label comes from: a field, "..field" of the row around, "@field" of the joined row, $resource, $slot, $index, $match, or a fixed text after "="';

const labelSource = z
  .string({ error: SOURCE })
  .max(LABEL_CHARS_MAX, { error: `${SOURCE}, at most ${LABEL_CHARS_MAX} characters` })
  .superRefine((value, context) => {
    if (isLabelSource(value)) return;
    const nearest = value.startsWith('$') ? findNearest(value, SOURCE_VARIABLES) : undefined;
    context.addIssue({ code: 'custom', message: SOURCE, params: { nearest } });
  });

/** Creates the schema of a map of labels to their sources. */
export function labelSources(description: string) {
  return z
    .record(labelName, labelSource, { error: 'a map of label names and where they come from' })
    .refine((map) => Object.keys(map).length <= METRIC_LABELS_MAX, { error: `at most ${METRIC_LABELS_MAX} labels` })
    .meta({ description, kind: 'map of label names to sources' })
    .optional();
}

const TEXTS = `a list of at most ${METRIC_TEXTS_MAX} texts (numbers need quotes)`;
const STATES = `a list of 1 to ${METRIC_STATES_MAX} texts, the states that are expected`;
const TEXT = `text of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;
const STATE = `text of 1 to ${LABEL_CHARS_MAX} characters (a number needs quotes)`;
const MAP = `a map of at most ${METRIC_TEXTS_MAX} texts to numbers`;

const NULL_WHEN_VALUES = 'a list of at least one text';
const NULL_WHEN_FIELDS = `a map of 1 to ${METRIC_LABELS_MAX} fields of the row to lists of texts`;

const FACTOR = 'a number other than 0';

const FIELD = `the name of a field, of 1 to ${FIELD_CHARS_MAX} characters`;
const fieldName = z.string({ error: FIELD }).min(1, { error: FIELD }).max(FIELD_CHARS_MAX, { error: FIELD });

function texts() {
  return z
    .array(z.string({ error: TEXT }).max(LABEL_CHARS_MAX, { error: TEXT }), { error: TEXTS })
    .max(METRIC_TEXTS_MAX, { error: TEXTS });
}

const nullWhen = section('Texts that mean "unknown" only in a row that says nothing else.', {
  values: texts()
    .min(1, { error: NULL_WHEN_VALUES })
    .meta({ description: 'These texts give no sample when all of `fields` are blank.', kind: 'list of texts' }),
  fields: z
    .record(fieldName, texts(), { error: NULL_WHEN_FIELDS })
    .refine((map) => Object.keys(map).length > 0 && Object.keys(map).length <= METRIC_LABELS_MAX, {
      error: NULL_WHEN_FIELDS,
    })
    .meta({
      description:
        'Other fields of the row, each with the texts that are blank in it. A field that is absent, empty or `---` is always blank.',
      kind: 'map of fields to lists of texts',
    }),
});

const VERSIONS = 'one to four versions with "<", "<=", "=", ">=" or ">" before each, such as ">=5.5 <9"';
const BOARDS_MAX = 64;
const BOARD = `a glob of 1 to ${LABEL_CHARS_MAX} characters`;
const BOARDS = `a list of 1 to ${BOARDS_MAX} globs of types of boards, such as "MRX*"`;

/** Creates the schema of the key `when`. */
export function deviceCondition(description: string) {
  return section(description, {
    firmware: checked(
      {
        description:
          'Versions, such as `">=5.5 <9"`: all bounds must hold. Numbers between dots are compared one by one, so 9.10 comes after 9.9, and 9 is 9.0; what follows them, as in `9.5-rc1`, does not count.',
        kind: 'range of versions',
      },
      VERSIONS,
      FIELD_CHARS_MAX,
      (value) => parseVersionRange(value) !== undefined,
    ).optional(),
    board: z
      .array(z.string({ error: BOARD }).min(1, { error: BOARD }).max(LABEL_CHARS_MAX, { error: BOARD }), {
        error: BOARDS,
      })
      .min(1, { error: BOARDS })
      .max(BOARDS_MAX, { error: BOARDS })
      .meta({
        description: 'Globs (`*`, `?`) of types of boards: one board of the router must match one of them.',
        kind: 'list of globs',
      })
      .optional(),
  }).optional();
}

/** Creates the schema of the key `source`. */
export function sourceChoice(description: string) {
  const about = { description: `${description} For the reference only.` };
  return choice(about, ['documented', 'observed', 'inferred']).optional();
}

const FIELD_PATTERN = /^[A-Za-z0-9_-]*\*?[A-Za-z0-9_-]*$/;

function isValueSource(value: string): boolean {
  return value === COUNT || (value !== '' && FIELD_PATTERN.test(value));
}

export const metricSchema = section('One metric.', {
  name: metricName(
    'Name of the metric. A counter ends in `_total`, an info metric in `_info`; other suffixes that OpenMetrics gives a meaning are refused.',
  ),
  help: help(
    'What the metric says, for people. The same in every module that has the metric. The fields and resources that it is polled from are added.',
  ),
  label: checked(
    { description: 'What the value is called on pages, such as `Signal`; the help is its tooltip. Default: the name.' },
    'a short text on one line, not blank',
    TITLE_CHARS_MAX,
    (value) => value.trim() !== '' && !/\p{Cc}/u.test(value),
  ).optional(),
  good: wholeNumber(
    { description: 'Which of 0 and 1 is good: pages mark the other one. Only for a `gauge`. Default: neither.' },
    0,
    1,
  ).optional(),
  type: choice(
    {
      description:
        '`gauge`: a number that goes up and down. `counter`: a number that only grows. `info`: the value 1 with labels that describe. `stateset`: one series for each state, 1 for the one that applies.',
    },
    ['gauge', 'counter', 'info', 'stateset'],
  ),
  value: checked(
    {
      description:
        'Field that holds the value. One `*` stands for anything, as in `input_voltage_*`: each field that fits gives a series. `$count` is the number of rows. Required, but not for `info`, which has it only with `null_when`.',
      kind: 'field',
    },
    'a field such as RSSI, with one "*" a pattern of fields such as input_*, or $count',
    FIELD_CHARS_MAX,
    isValueSource,
  ).optional(),
  unit: checked(
    {
      description:
        'Unit in the text, as in `23.75 V`. An SI prefix before it is understood, and the number becomes base units.',
    },
    'a unit such as V or dBm: no blank, not a digit first, at most 16 characters',
    16,
    (value) => /^[^\d\s.,+-]\S*$/.test(value),
  ).optional(),
  prefixes: choice(
    {
      description:
        'What `k`, `M`, `G` before a unit of bytes mean: powers of 1000 (`decimal`), or of 1024 (`binary`), which is how memory is counted.',
    },
    ['decimal', 'binary'],
  ).prefault('decimal'),
  form: choice(
    {
      description:
        'How the text becomes a number. Without it, whatever the text looks like: a number, hexadecimal with `0x`, a percentage (to a ratio), a duration (to seconds), a date (to Unix seconds). With it only that form counts. `hexadecimal` is a whole number with or without `0x`, `clock_offset` is a date as seconds that it is ahead of this machine, `list` several numbers with blanks or commas between them, `fraction` two numbers with a slash between them.',
    },
    ['number', 'hexadecimal', 'percentage', 'duration', 'date', 'clock_offset', 'list', 'fraction'],
  ).optional(),
  part: wholeNumber(
    { description: 'Which number of a `list` or `fraction`, from 1. Required with these two forms.' },
    1,
    VALUE_PART_MAX,
  ).optional(),
  pattern: text({
    description:
      'Pattern in RE2 syntax whose group `value` is what counts of the text, such as `load (?P<value>\\d+)`. A text that does not match gives no sample. `null_values` and `null_when` look at the whole text and at the group.',
    kind: 'pattern',
  }).optional(),
  bit: wholeNumber(
    { description: 'Number of a bit of a whole number, from 0: the value is 1 if it is set, else 0.' },
    0,
    VALUE_BIT_MAX,
  ).optional(),
  factor: z
    .number({ error: FACTOR })
    .refine((value) => value !== 0, { error: FACTOR })
    .meta({ description: 'The number is multiplied by it, such as 0.1.', kind: 'number' })
    .optional(),
  offset: z
    .number({ error: 'a number' })
    .meta({ description: 'Is added to the number, after `factor`.', kind: 'number' })
    .optional(),
  null_values: texts()
    .meta({
      description: 'Texts that mean "unknown" or "none" and give no sample. Replaces the default.',
      kind: 'list of texts',
    })
    .prefault(['', '---']),
  null_when: nullWhen.optional(),
  map: z
    .record(z.string().max(LABEL_CHARS_MAX, { error: TEXT }), z.number({ error: 'a number' }), { error: MAP })
    .refine((map) => Object.keys(map).length <= METRIC_TEXTS_MAX, { error: MAP })
    .refine((map) => Object.keys(map).length > 0, { error: 'a map of at least one text to a number' })
    .meta({
      description:
        'Numbers for texts, such as `{ up: 1, down: 0 }`; `"*"` stands for any other text. Upper and lower case are the same.',
      kind: 'map of texts to numbers',
    })
    .optional(),
  states: z
    .array(z.string({ error: STATE }).min(1, { error: STATE }).max(LABEL_CHARS_MAX, { error: STATE }), {
      error: STATES,
    })
    .min(1, { error: STATES })
    .max(METRIC_STATES_MAX, { error: STATES })
    .meta({
      description: 'The states of a `stateset`. Any other text becomes the state `unknown`. Required there.',
      kind: 'list of texts',
    })
    .optional(),
  state_label: labelName
    .meta({
      description: 'Label of a `stateset` that holds the state.',
      kind: 'label name',
    })
    .prefault('state'),
  when: deviceCondition('Routers that have the metric, by their `device_info`. Default: all.'),
  labels: labelSources('Labels of this metric, in addition to those of the resource. Required for `info`.'),
  source: sourceChoice('Where it is known from that devices have this field.'),
});

/** The valid keys of a metric. */
export type MetricSettings = SoundOf<typeof metricSchema>;
