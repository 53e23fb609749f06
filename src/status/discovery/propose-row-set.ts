import type { MetricType } from '../../model/index.ts';
import {
  FIELD_CHARS_MAX,
  isField,
  isResourcePath,
  isRows,
  RESOURCE_METRICS_MAX,
  RESOURCE_PATH_CHARS_MAX,
} from '../module-settings/grammar.ts';
import { classifyName, isSensitiveText } from './document-masker.ts';
import type { SeenField, SeenRowSet } from './explore-documents.ts';
import { isCounterName, LabelNames, type MetricNames, toSnakeCase } from './metric-names.ts';
import { type FieldMetric, proposeMetrics } from './propose-metrics.ts';

/** A metric as in a module file. */
interface ProposedMetric extends Partial<FieldMetric['keys']> {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly state_label?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A resource as in a module file. */
interface ProposedResource {
  readonly path: string;
  readonly optional: true;
  readonly each: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metrics: readonly ProposedMetric[];
}

/** Fields that did not become metrics, by reason. */
interface RowSetNotes {
  /** They look like secrets or identify a person, device or place. */
  readonly sensitive: readonly string[];
  /** No value was seen. */
  readonly empty: readonly string[];
  /** A module cannot express them, because of their names or because they are lists. */
  readonly unsayable: readonly string[];
  /** They exceed the limits of a module. */
  readonly excess: readonly string[];
  /** True if no field distinguishes the rows, so that their series would coincide. */
  readonly isAmbiguous: boolean;
}

/** Proposal for the rows at one path, with remarks. */
export interface ProposedRowSet {
  readonly path: string;
  /** Path to the rows; empty for the document itself. */
  readonly each: string;
  /** Absent if nothing there can become a metric. */
  readonly resource: ProposedResource | undefined;
  readonly notes: RowSetNotes;
}

/** A module proposed for uncovered fields. */
export interface ProposedModule {
  readonly name: string;
  readonly help: string;
  /** At least one of them has a resource. */
  readonly rowSets: readonly ProposedRowSet[];
}

interface RowSetToPropose {
  /** Path of the resource, with `*` for its slots. */
  readonly path: string;
  readonly rowSet: SeenRowSet;
  /** The enclosing rows. */
  readonly outer: SeenRowSet | undefined;
  /** Fields that no module covers. */
  readonly fields: readonly SeenField[];
}

/** Names that are already taken. */
export interface ProposalContext {
  readonly names: MetricNames;
  /** Labels that the configuration adds to all series of the router. */
  readonly labels: readonly string[];
  readonly isSensitive: (text: string) => boolean;
}

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
  const { proposed, ...notes } = sortFields(fields, context);
  const none = { path, each, resource: undefined };
  // A label may come from the enclosing row, but not from the one around that.
  const isNear = each.split('[]').length <= 2;
  const isShort = path.length <= RESOURCE_PATH_CHARS_MAX && each.length <= FIELD_CHARS_MAX;
  if (!isResourcePath(path) || !isRows(each) || !isNear || !isShort) {
    const unsayable = fields.map(({ name }) => name).filter((name) => !notes.sensitive.includes(name));
    return { ...none, notes: { ...notes, unsayable, empty: [] } };
  }
  const labelNames = new LabelNames(context.labels);
  const rows = nameRows(asked, labelNames, context);
  if (!rows) return { ...none, notes: { ...notes, isAmbiguous: true } };
  const values = proposed.filter(({ field }) => field.name !== rows.field);
  // If the names of the rows are the only information, they become the metric.
  const isNameAlone = values.length === 0 && proposed.length > 0;
  const labels = isNameAlone ? rows.around : { ...rows.around, ...rows.own };
  const metrics = isNameAlone
    ? [nameInfo(asked, rows.own, context)]
    : [...nameMetrics(asked, values, labels, context), ...nameTexts(asked, values, labelNames, context)];
  if (metrics.length === 0) return { ...none, notes };
  const kept = metrics.slice(0, RESOURCE_METRICS_MAX);
  const excess = metrics
    .slice(RESOURCE_METRICS_MAX)
    .flatMap(({ value, labels: own = {} }) => value ?? Object.values(own));
  const hasLabels = Object.keys(labels).length > 0;
  const resource = { path, optional: true as const, each, ...(hasLabels && { labels }), metrics: kept };
  return { path, each, resource, notes: { ...notes, excess } };
}

interface ProposedField {
  readonly field: SeenField;
  /** Empty for a text that becomes a label. */
  readonly metrics: readonly FieldMetric[];
}

function sortFields(
  fields: readonly SeenField[],
  { isSensitive }: ProposalContext,
): RowSetNotes & { readonly proposed: readonly ProposedField[] } {
  const proposed: ProposedField[] = [];
  const sensitive: string[] = [];
  const empty: string[] = [];
  const unsayable: string[] = [];
  for (const field of fields) {
    const { name, texts, isPlain } = field;
    const metrics = proposeMetrics(name, texts);
    if (looksSensitive(field, isSensitive)) sensitive.push(name);
    else if (!isPlain || !isField(name) || name.length > FIELD_CHARS_MAX) unsayable.push(name);
    else if (metrics) proposed.push({ field, metrics });
    else empty.push(name);
  }
  return { proposed, sensitive, empty, unsayable, excess: [], isAmbiguous: false };
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

interface RowLabels {
  /** Labels from the resource and from the enclosing row. */
  readonly around: Readonly<Record<string, string>>;
  /** Labels from the row itself. */
  readonly own: Readonly<Record<string, string>>;
  /** The field used for {@link own}. */
  readonly field: string | undefined;
}

/** `undefined` if no labels distinguish the series. */
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

/** Fields that may name a row even if only one row was seen. */
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

function toNameParts({ path, rowSet }: RowSetToPropose): { readonly resource: string; readonly rowSet: string } {
  return { resource: toSnakeCase(path), rowSet: toSnakeCase(rowSet.each.split('.').at(-1) ?? '') };
}

function nameMetrics(
  asked: RowSetToPropose,
  values: readonly ProposedField[],
  labels: Readonly<Record<string, string>>,
  { names, labels: labelsTaken }: ProposalContext,
): readonly ProposedMetric[] {
  const where = toNameParts(asked);
  const stateLabel = new LabelNames([...labelsTaken, ...Object.keys(labels)]).take('state');
  return values
    .flatMap(({ metrics }) => metrics)
    .map(({ type, words, suffix, meaning, keys }) => ({
      name: names.take(type, { ...where, field: words, unit: suffix }),
      help: `Proposed by discover: ${keys.value} of ${asked.path}${meaning && `, ${meaning}`}.`,
      type,
      ...keys,
      ...(type === 'stateset' && stateLabel !== 'state' && { state_label: stateLabel }),
    }));
}

function nameTexts(
  asked: RowSetToPropose,
  values: readonly ProposedField[],
  labelNames: LabelNames,
  context: ProposalContext,
): readonly ProposedMetric[] {
  const fields = values.filter(({ metrics }) => metrics.length === 0).map(({ field }) => field.name);
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
  return { name, help: `Proposed by discover: texts of ${asked.path}.`, type: 'info', labels };
}
