import type { MetricType } from '../../model/index.ts';
import type { SeenField, SeenRowSet } from './explore-documents.ts';
import { type FieldGuess, type Guess, guessField } from './guess-field.ts';
import { classifyName, isSensitiveText } from './mask-table.ts';
import { isCounterName, LabelNames, type MetricNames, toFieldWords, toSnakeCase } from './metric-names.ts';
import type { ProposedMetric, ProposedRowSet, RowSetNotes } from './proposal.ts';

/** A metric without a name. */
interface NamelessMetric {
  readonly type: MetricType;
  /** The field's part of the name, in snake case. */
  readonly words: string;
  /** Unit or meaning of 1 in the name; may be empty. */
  readonly suffix: string;
  /** Meaning of the number, appended to the help; empty if it is the field as it is. */
  readonly meaning: string;
  /** The keys of the metric that describe how it is read. */
  readonly keys: Omit<ProposedMetric, 'name' | 'help' | 'type'> & { readonly value: string };
}

/** Proposes metrics for a field that is more than a text: one, or one for each number in its texts. */
function proposeMetrics(field: SeenField, { guesses, nullValues }: FieldGuess): readonly NamelessMetric[] {
  return guesses.flatMap((guess) =>
    toMetrics(field, guess).map((metric) => {
      const isRead = guess.kind !== 'flag' && guess.kind !== 'states' && nullValues.length > 0;
      const keys = isRead ? { ...metric.keys, null_values: [...new Set(['', '---', ...nullValues])] } : metric.keys;
      return { ...metric, keys };
    }),
  );
}

function toMetrics({ name, texts }: SeenField, guess: Guess): readonly NamelessMetric[] {
  const gauge = { type: 'gauge', words: toFieldWords(name, 'gauge'), suffix: '', meaning: '' } as const;
  const keys = { value: name };
  switch (guess.kind) {
    case 'label':
      return [];
    case 'number': {
      const isCounter = isCounterName(name) && texts.every((text) => /^(?:\d+|\D+)$/.test(text));
      const type = isCounter ? 'counter' : 'gauge';
      return [{ ...gauge, type, words: toFieldWords(name, type), keys }];
    }
    case 'percentage':
      return [{ ...gauge, suffix: 'ratio', meaning: 'as a ratio', keys: { ...keys, form: guess.kind } }];
    case 'duration':
      return [{ ...gauge, suffix: 'seconds', meaning: 'in seconds', keys: { ...keys, form: guess.kind } }];
    case 'date':
      return [
        { ...gauge, suffix: 'timestamp_seconds', meaning: 'as Unix seconds', keys: { ...keys, form: guess.kind } },
      ];
    case 'unit': {
      const suffix = toSnakeCase(guess.suffix);
      return [{ ...gauge, suffix, meaning: `in ${guess.unit}`, keys: { ...keys, unit: guess.unit } }];
    }
    case 'list':
      return Array.from({ length: guess.parts }, (_none, index) => ({
        ...gauge,
        words: `${gauge.words}_${index + 1}`,
        meaning: `number ${index + 1}`,
        keys: { ...keys, form: 'list', part: index + 1 },
      }));
    case 'fraction':
      return [1, 2].map((part) => ({
        ...gauge,
        words: `${gauge.words}_${part}`,
        suffix: toSnakeCase(guess.suffix),
        meaning: `number ${part}`,
        keys: { ...keys, form: 'fraction', part, ...(guess.unit !== undefined && { unit: guess.unit }) },
      }));
    case 'flag': {
      const [one = ''] = Object.entries(guess.map).find(([, number]) => number === 1) ?? [];
      return [{ ...gauge, suffix: guess.suffix, meaning: `1 is ${one}`, keys: { ...keys, map: guess.map } }];
    }
    case 'states':
      return [
        {
          ...gauge,
          type: 'stateset',
          meaning: '1 for the state that applies',
          keys: { ...keys, states: guess.states },
        },
      ];
  }
}

/** Rows for which metrics are proposed. */
export interface RowSetToPropose {
  /** Path of the resource, with `*` for its slots. */
  readonly path: string;
  readonly rowSet: SeenRowSet;
  /** The enclosing rows. */
  readonly outer: SeenRowSet | undefined;
  /** Fields that no module covers. */
  readonly fields: readonly SeenField[];
}

/** Names that are taken already. */
export interface ProposalContext {
  readonly names: MetricNames;
  /** Labels that the configuration adds to all series of the router. */
  readonly labels: readonly string[];
  readonly isSensitive: (text: string) => boolean;
}

/** Limits of a module file. */
const PATH = /^[a-z0-9_]+\*?(?:\/[a-z0-9_]+)*$/i;
const PATH_LENGTH_MAX = 200;
const STEP = /^[A-Za-z0-9_-]+(?:\[\])?$/;
const STEPS_MAX = 8;
const EACH_LENGTH_MAX = 128;
const FIELD = /^[A-Za-z0-9_-]{1,128}$/;
const METRICS_MAX = 200;
/** A metric has at most 16 labels, of which the resource uses up to three. */
const INFO_LABELS_MAX = 13;

/** Fields that name a row, best first, and the labels that they become. */
const NAMING_FIELDS: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['if_name', 'interface'],
  ['ifname', 'interface'],
  ['interface', 'interface'],
  ['port', 'port'],
  ['slot', 'slot'],
  ['channel', 'channel'],
  ['component', 'component'],
  ['service', 'service'],
]);

/** Proposes metrics for the fields at one path. */
export function proposeRowSet(asked: RowSetToPropose, context: ProposalContext): ProposedRowSet {
  const { path, rowSet, fields } = asked;
  const { each } = rowSet;
  const { guessed, ...notes } = sortFields(fields, context);
  const none = { path, each, resource: undefined };
  if (!PATH.test(path) || path.length > PATH_LENGTH_MAX || !isRows(each)) {
    const unsayable = fields.map(({ name }) => name).filter((name) => !notes.sensitive.includes(name));
    return { ...none, notes: { ...notes, unsayable, empty: [] } };
  }
  const labelNames = new LabelNames(context.labels);
  const rows = nameRows(asked, labelNames, context);
  if (!rows) return { ...none, notes: { ...notes, isAmbiguous: true } };
  const values = guessed.filter(({ field }) => field.name !== rows.field);
  // If the names of the rows are the only information, they become the metric.
  const isNameAlone = values.length === 0 && guessed.length > 0;
  const labels = isNameAlone ? rows.around : { ...rows.around, ...rows.own };
  const metrics = isNameAlone
    ? [nameInfo(asked, rows.own, context)]
    : [...nameMetrics(asked, values, labels, context), ...nameTexts(asked, values, labelNames, context)];
  if (metrics.length === 0) return { ...none, notes };
  const kept = metrics.slice(0, METRICS_MAX);
  const excess = metrics.slice(METRICS_MAX).flatMap(({ value, labels: own = {} }) => value ?? Object.values(own));
  const hasLabels = Object.keys(labels).length > 0;
  const resource = { path, optional: true as const, each, ...(hasLabels && { labels }), metrics: kept };
  return { path, each, resource, notes: { ...notes, excess } };
}

interface GuessedField {
  readonly field: SeenField;
  readonly guess: FieldGuess;
}

function sortFields(
  fields: readonly SeenField[],
  { isSensitive }: ProposalContext,
): RowSetNotes & { readonly guessed: readonly GuessedField[] } {
  const guessed: GuessedField[] = [];
  const sensitive: string[] = [];
  const empty: string[] = [];
  const unsayable: string[] = [];
  for (const field of fields) {
    const { name, texts, isPlain } = field;
    const guess = guessField(name, texts);
    if (looksSensitive(field, isSensitive)) sensitive.push(name);
    else if (!isPlain || !FIELD.test(name)) unsayable.push(name);
    else if (guess) guessed.push({ field, guess });
    else empty.push(name);
  }
  return { guessed, sensitive, empty, unsayable, excess: [], isAmbiguous: false };
}

function looksSensitive({ name, texts }: SeenField, isMasked: (text: string) => boolean): boolean {
  const sensitivity = classifyName(name);
  if (sensitivity === 'secret') return true;
  if (
    sensitivity === 'identity' &&
    (texts.length === 0 || texts.some((text) => isSensitiveText(sensitivity, name, text)))
  )
    return true;
  // A long count has as many digits as a card number.
  return texts.some((text) => !(isCounterName(name) && /^\d+$/.test(text)) && isMasked(text));
}

function isRows(each: string): boolean {
  const steps = each.split('.');
  // A label may come from the enclosing row, but not from the one around that.
  const isNear = each.split('[]').length <= 2;
  const isShort = each.length <= EACH_LENGTH_MAX && steps.length <= STEPS_MAX;
  return isShort && isNear && steps.every((step) => STEP.test(step));
}

/** Labels that distinguish the series of the rows. */
interface RowLabels {
  /** Labels from the resource and from the enclosing row. */
  readonly around: Readonly<Record<string, string>>;
  /** Labels from the row itself. */
  readonly own: Readonly<Record<string, string>>;
  /** The field used for {@link own}. */
  readonly field: string | undefined;
}

/** Returns `undefined` if no labels distinguish the series. */
function nameRows(
  { path, rowSet, outer }: RowSetToPropose,
  labelNames: LabelNames,
  context: ProposalContext,
): RowLabels | undefined {
  const around: Record<string, string> = path.includes('*') ? { [labelNames.take('slot')]: '$slot' } : {};
  if (rowSet.each.includes('[]') && outer) {
    const field = findNamingField(outer, context);
    if (field !== undefined) around[labelNames.take(toLabel(field))] = `..${field}`;
    else if (outer.rows > 1) return undefined;
  }
  if (!rowSet.isList) return { around, own: {}, field: undefined };
  const field = findNamingField(rowSet, context);
  const own =
    field === undefined ? { [labelNames.take('index')]: '$index' } : { [labelNames.take(toLabel(field))]: field };
  return { around, own, field };
}

function toLabel(field: string): string {
  return NAMING_FIELDS.get(field.toLowerCase()) ?? field;
}

/** Fields that may name a row even if there is only one row to judge by. */
const SURE_NAMES: ReadonlySet<string> = new Set(['name', 'if_name', 'ifname']);

function findNamingField({ fields, rowsMost }: SeenRowSet, { isSensitive }: ProposalContext): string | undefined {
  for (const wanted of NAMING_FIELDS.keys()) {
    if (rowsMost < 2 && !SURE_NAMES.has(wanted)) continue;
    const found = fields.find(({ name, isPlain, isUnique, texts }) => {
      return name.toLowerCase() === wanted && isPlain && isUnique && !texts.some(isSensitive);
    });
    if (found) return found.name;
  }
  return undefined;
}

/** Returns the common parts of the metric names of a path. */
function toNameParts({ path, rowSet }: RowSetToPropose): { readonly resource: string; readonly rowSet: string } {
  return { resource: toSnakeCase(path), rowSet: toSnakeCase(rowSet.each.split('.').at(-1) ?? '') };
}

function nameMetrics(
  asked: RowSetToPropose,
  values: readonly GuessedField[],
  labels: Readonly<Record<string, string>>,
  { names, labels: labelsTaken }: ProposalContext,
): readonly ProposedMetric[] {
  const where = toNameParts(asked);
  const stateLabel = new LabelNames([...labelsTaken, ...Object.keys(labels)]).take('state');
  return values
    .flatMap(({ field, guess }) => proposeMetrics(field, guess))
    .map(({ type, words, suffix, meaning, keys }) => ({
      name: names.take(type, { ...where, field: words, unit: suffix }),
      help: `Guessed by discover: ${keys.value} of ${asked.path}${meaning && `, ${meaning}`}.`,
      type,
      ...keys,
      ...(type === 'stateset' && stateLabel !== 'state' && { state_label: stateLabel }),
    }));
}

/** Proposes metrics for texts that cannot become numbers. */
function nameTexts(
  asked: RowSetToPropose,
  values: readonly GuessedField[],
  labelNames: LabelNames,
  context: ProposalContext,
): readonly ProposedMetric[] {
  const fields = values.filter(({ guess }) => guess.guesses[0]?.kind === 'label').map(({ field }) => field.name);
  const count = Math.ceil(fields.length / INFO_LABELS_MAX);
  return Array.from({ length: count }, (_none, index) => {
    const part = fields.slice(index * INFO_LABELS_MAX, (index + 1) * INFO_LABELS_MAX);
    return nameInfo(asked, Object.fromEntries(part.map((field) => [labelNames.take(field), field])), context);
  });
}

function nameInfo(
  asked: RowSetToPropose,
  labels: Readonly<Record<string, string>>,
  { names }: ProposalContext,
): ProposedMetric {
  const name = names.take('info', { ...toNameParts(asked), field: '', unit: '' });
  return { name, help: `Guessed by discover: texts of ${asked.path}.`, type: 'info', labels };
}
