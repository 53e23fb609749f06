import { compilePattern } from '../../base/index.ts';
import type { Labels, MetricFamily } from '../../model/index.ts';
import { COUNT, JOINED, UNKNOWN_STATE, VALUE_GROUP } from '../module-settings/grammar.ts';
import type { MetricDefinition, ModuleDefinition, ResourceDefinition } from '../module-settings/module-schema.ts';
import type { DateContext } from '../values/parse-date-text.ts';
import { isKnownForm, readValue, type ValueReading } from '../values/parse-value.ts';
import { DeclaredUnit } from '../values/quantities.ts';
import { compileCondition, type DeviceFacts } from './device-condition.ts';
import { FamilyCollector, type MappingFault, type MappingFaultReason } from './family-collector.ts';
import { CompiledJoin, type JoinTable, LabelSources, NO_SELECTION, type SampleOrigin } from './labels.ts';
import { FieldPattern, type FoundRows, type Row, RowPath, toPlainText } from './rows.ts';

/** Context for mapping a document. */
export interface MappingContext {
  /** Such as `lte2`. */
  readonly resource: string;
  /** Time of reading by this machine's clock. Milliseconds since the Unix epoch. */
  readonly readAtMs: number;
  /** IANA name of the router's zone. If absent, dates are read as UTC, and the offset of its clock is unknown. */
  readonly zone: string | undefined;
  /** Facts about the device, for conditions. Default: unknown, so no condition is met. */
  readonly device?: DeviceFacts | undefined;
  /** Returns the rows of a join. Default: none are known. */
  readonly tableOf?: ((join: CompiledJoin) => JoinTable | undefined) | undefined;
}

interface Mapping {
  /** False if the document has none of the rows of `each`. Then the other fields have no meaning. */
  readonly isFound: boolean;
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** True if a field read by a metric was present, even if its value means "nothing"; or if nothing reads the document. */
  readonly isRecognised: boolean;
  /** True if the same document read at another time may give another mapping. */
  readonly dependsOnTime: boolean;
}

/** A compiled resource of a module. */
export interface CompiledResource {
  readonly definition: ResourceDefinition;
  readonly join: CompiledJoin | undefined;
  /** True if a condition applies to the resource or to one of its metrics. */
  readonly isConditional: boolean;
  /** Returns true if this router meets the conditions of the resource and of any of its metrics. */
  isFor(device: DeviceFacts | undefined): boolean;
  /** Returns false if the document does not have the rows of `each`. */
  collect(document: unknown, context: MappingContext, collector: FamilyCollector): boolean;
  /** Returns true if a field of a row becomes a value or a label; `levelsUp` 1: a field of the enclosing row (`..field`). */
  coversField(name: string, levelsUp?: number): boolean;
  /** Returns true if a metric for this router reads the text of a field, or treats it as "nothing". */
  reads(field: FieldText, context: MappingContext): boolean;
}

/** Maps a document with the resources that read it. Pure. Accepts anything a router can send; never throws. */
export function mapDocument(
  resources: readonly CompiledResource[],
  document: unknown,
  context: MappingContext,
): Mapping {
  const collector = new FamilyCollector();
  const own = resources.filter((resource) => resource.isFor(context.device));
  const found = own.filter((resource) => resource.collect(document, context, collector));
  const { families, faults, dependsOnTime } = collector;
  const isRecognised = own.length === 0 || collector.isRecognised;
  return { isFound: own.length === 0 || found.length > 0, families, faults, isRecognised, dependsOnTime };
}

interface FieldText {
  readonly row: Row;
  readonly name: string;
  readonly text: string;
}

interface CompiledModule {
  readonly definition: ModuleDefinition;
  readonly resources: readonly CompiledResource[];
}

/** Hundreds of routers share the definitions of a few modules. */
const compiled = new WeakMap<ModuleDefinition, CompiledModule>();

/** Compiles checked modules, each only once. */
export function compileModules(definitions: readonly ModuleDefinition[]): readonly CompiledModule[] {
  return definitions.map(compileModule);
}

function compileModule(definition: ModuleDefinition): CompiledModule {
  const known = compiled.get(definition);
  if (known) return known;
  const { name, unfiltered = definition } = definition;
  const listReaders: ReaderList = ({ path, each }) =>
    compileModule(unfiltered).resources.filter((one) => one.definition.path === path && one.definition.each === each);
  const module = {
    definition,
    resources: definition.resources.map((resource) => compileResource(name, resource, listReaders)),
  };
  compiled.set(definition, module);
  return module;
}

/** Returns the readers of the same rows, including metrics that the router does not have. */
type ReaderList = (resource: ResourceDefinition) => readonly CompiledResource[];

function compileResource(module: string, definition: ResourceDefinition, listReaders: ReaderList): CompiledResource {
  const path = new RowPath(definition.each);
  const shared = new LabelSources(definition.labels, {});
  const metrics = definition.metrics.map((metric) => ({
    ...compileMetric(metric, definition.labels, shared),
    isFor: compileCondition(metric.when),
  }));
  const join = definition.join && new CompiledJoin(definition.join, listJoinedFields(definition));
  const isFor = compileCondition(definition.when);
  return {
    definition,
    join,
    isConditional: isFor !== undefined || metrics.some((metric) => metric.isFor !== undefined),
    isFor(device) {
      const hasMetric = metrics.length === 0 || metrics.some((metric) => metric.isFor?.(device) ?? true);
      return hasMetric && (isFor?.(device) ?? true);
    },
    collect(document, reading, collector) {
      const found = path.find(document);
      if (!found) return false;
      collector.module = module;
      const { resource, zone, device } = reading;
      const context = {
        origin: joinRows({ resource, slot: parseSlot(resource), match: '' }, join, reading),
        zone,
        get readAtMs() {
          collector.dependsOnTime = true;
          return reading.readAtMs;
        },
        isRead: (field: FieldText) => listReaders(definition).some((reader) => reader.reads(field, reading)),
      };
      for (const metric of metrics) if (metric.isFor?.(device) ?? true) metric.map(found, context, collector);
      for (const { name, value } of definition.metrics) {
        if (found.isCut && value !== COUNT) collector.addFault(name, 'too_many');
      }
      return true;
    },
    coversField: (name, levelsUp = 0) =>
      metrics.some((metric) => metric.covers(name, levelsUp)) || (join?.covers(name, levelsUp) ?? false),
    reads: (field, context) =>
      (isFor?.(context.device) ?? true) &&
      metrics.some((metric) => (metric.isFor?.(context.device) ?? true) && metric.reads(field, context)),
  };
}

function listJoinedFields({ labels, metrics }: ResourceDefinition): readonly string[] {
  const sources = [labels, ...metrics.map((metric) => metric.labels)].flatMap((map) => Object.values(map));
  return sources.flatMap((source) => (source.startsWith(JOINED) ? [source.slice(JOINED.length)] : []));
}

function joinRows(origin: SampleOrigin, join: CompiledJoin | undefined, { tableOf }: MappingContext): SampleOrigin {
  const table = join && tableOf?.(join);
  return table ? { ...origin, joinedTo: (row) => join.find(table, row, origin) } : origin;
}

/** The slot number is the digits at the end of the first segment. */
function parseSlot(resource: string): string {
  return /^[^/]*?(\d+)(?:\/|$)/.exec(resource)?.[1] ?? '';
}

interface MetricContext extends DateContext {
  /** Without the match of a star. */
  readonly origin: SampleOrigin;
  /** Called only for values that a metric leaves to others. */
  readonly isRead: (field: FieldText) => boolean;
}

interface CompiledMetric {
  readonly covers: (field: string, levelsUp: number) => boolean;
  readonly map: (found: FoundRows, context: MetricContext, collector: FamilyCollector) => void;
  /** Returns true if the metric reads the text of a field, or treats it as "nothing". */
  readonly reads: (field: FieldText, context: DateContext) => boolean;
}

/** The metric's own labels take precedence over `labels` of its resource. `shared`: the sources of the latter. */
function compileMetric(
  definition: MetricDefinition,
  labels: Readonly<Record<string, string>>,
  shared = new LabelSources(labels, {}),
): CompiledMetric {
  const { value, type } = definition;
  const hasOwn = Object.keys(definition.labels).length > 0;
  // The information of an info metric is in its labels.
  const nullValues = type === 'info' ? definition.nullValues : [];
  const sources = hasOwn || nullValues.length > 0 ? new LabelSources(labels, definition.labels, nullValues) : shared;
  if (type === 'info') return compileInfo(definition, sources);
  if (value === undefined || value === COUNT) return compileCount(definition, sources);
  const texts = type === 'stateset' ? compileStates(definition) : compileValue(definition);
  const isBlank = compileNullCondition(definition.nullWhen);
  const capture = compileCapture(definition.pattern);
  const pattern = value.includes('*') ? new FieldPattern(value) : undefined;
  const isNull = (text: string, row: Row) => definition.nullValues.includes(text) || isBlank(text, row);
  // Returns the relevant part of a text; `null` if it means "nothing", `undefined` if it does not match.
  const select = (text: string, row: Row) => {
    const part = capture(text);
    return isNull(text, row) || (part !== undefined && part !== text && isNull(part, row)) ? null : part;
  };
  const add = (at: FieldPosition, field: unknown, context: MetricContext, collector: FamilyCollector) => {
    const { row, match } = at;
    const plain = toPlainText(field);
    if (plain === undefined) return;
    if ('fault' in plain) return collector.addFault(definition.name, plain.fault);
    const text = select(plain.text, row);
    if (text === null) collector.isRecognised = true;
    if (text === null || text === undefined) return;
    const reading = sources.read(row, match === undefined ? context.origin : { ...context.origin, match });
    if ('fault' in reading) return collector.addFault(definition.name, reading.fault);
    if (!reading.isNamed) return collector.addFault(definition.name, 'unnamed');
    const fault = texts.add(text, context, reading.labels, collector);
    if (fault === undefined) return;
    const name = match === undefined ? value : value.replace('*', () => match);
    if (fault === 'other_form' && context.isRead({ row, name, text: plain.text })) return;
    collector.addFault(definition.name, fault);
  };
  return {
    covers: (field, levelsUp) => sources.covers(field, levelsUp) || (levelsUp === 0 && isField(value, pattern, field)),
    map({ rows }, context, collector) {
      for (const row of rows) {
        if (!pattern) {
          add({ row }, row.read(value), context, collector);
          continue;
        }
        const { matches, isCut } = row.match(pattern);
        for (const [match, field] of matches) add({ row, match }, field, context, collector);
        if (isCut) collector.addFault(definition.name, 'too_many');
      }
    },
    reads({ row, name, text }, context) {
      if (!isField(value, pattern, name)) return false;
      const part = select(text, row);
      return part === null || (part !== undefined && texts.reads(part, context));
    },
  };
}

/** `match`: what the star in the field's name matches. */
interface FieldPosition {
  readonly row: Row;
  readonly match?: string;
}

/**
 * Returns a predicate for texts that mean "unknown" because of the rest of the row: 0 from a modem that is off is not a temperature. Then
 * each of the fields present in the row has one of its texts, is empty or is `---`.
 */
function compileNullCondition(condition: MetricDefinition['nullWhen']): (text: string, row: Row) => boolean {
  if (!condition) return () => false;
  const values = new Set(condition.values);
  const fields = Object.entries(condition.fields).map(
    ([name, texts]) => [name, new Set(['', NO_SELECTION, ...texts])] as const,
  );
  return (text, row) =>
    values.has(text) &&
    fields.every(([name, texts]) => {
      const plain = toPlainText(row.read(name)) ?? { text: '' };
      return 'text' in plain && texts.has(plain.text);
    });
}

function compileCapture(source: string | undefined): (text: string) => string | undefined {
  if (source === undefined) return (text) => text;
  const pattern = compilePattern(source);
  return (text) => pattern.match(text)?.[VALUE_GROUP];
}

interface TextMapper {
  /** Returns true if a text becomes samples, none of them unknown. */
  readonly reads: (text: string, context: DateContext) => boolean;
  /** Adds the samples of a text; returns the fault, if any. */
  readonly add: (
    text: string,
    context: DateContext,
    labels: Labels,
    collector: FamilyCollector,
  ) => MappingFaultReason | undefined;
}

function compileInfo(definition: MetricDefinition, sources: LabelSources): CompiledMetric {
  const { name, value = '', nullWhen } = definition;
  const isBlank = compileNullCondition(nullWhen);
  // True if a field says that the row means nothing.
  const isNull = (row: Row) => {
    const plain = toPlainText(row.read(value));
    return plain !== undefined && 'text' in plain && isBlank(plain.text, row);
  };
  return {
    covers: (field, levelsUp) =>
      sources.covers(field, levelsUp) || (levelsUp === 0 && isField(value, undefined, field)),
    // Labels take any text, so they do not show that a text was understood.
    reads: () => false,
    map({ rows }, context, collector) {
      for (const row of rows) {
        if (nullWhen && isNull(row)) {
          collector.isRecognised = true;
          continue;
        }
        const reading = sources.read(row, context.origin);
        if ('fault' in reading) collector.addFault(name, reading.fault);
        else if (reading.isInformative && !reading.isNamed) collector.addFault(name, 'unnamed');
        else if (reading.isInformative) collector.add(definition, reading.labels, 1);
        else if (sources.isPresent(row)) collector.isRecognised = true;
      }
    },
  };
}

function compileCount(definition: MetricDefinition, sources: LabelSources): CompiledMetric {
  return {
    covers: () => false,
    reads: () => false,
    map({ count }, context, collector) {
      const reading = sources.read(undefined, context.origin);
      if ('labels' in reading) collector.add(definition, reading.labels, count);
    },
  };
}

/** One sample per state, with 1 for the current one. */
function compileStates(definition: MetricDefinition): TextMapper {
  const { states = [], stateLabel } = definition;
  const all = new Set([...states, UNKNOWN_STATE]);
  const byLowerCase = new Map(states.toReversed().map((state) => [state.toLowerCase(), state]));
  const find = (text: string) => (states.includes(text) ? text : byLowerCase.get(text.toLowerCase()));
  return {
    reads: (text) => find(text) !== undefined,
    add(text, _context, labels, collector) {
      const found = find(text);
      for (const state of all) {
        const value = state === (found ?? UNKNOWN_STATE) ? 1 : 0;
        // Rows that cannot be distinguished are one fault, not one for each state.
        if (!collector.add(definition, { ...labels, [stateLabel]: state }, value)) return undefined;
      }
      return found === undefined ? 'unknown_state' : undefined;
    },
  };
}

function compileValue(definition: MetricDefinition): TextMapper {
  const read = definition.map ? compileMap(definition.map) : compileConversion(definition);
  return {
    reads(text, context) {
      const reading = read(text, context);
      return typeof reading === 'number' || reading === 'no_value';
    },
    add(text, context, labels, collector) {
      const reading = read(text, context);
      if (typeof reading === 'number') collector.add(definition, labels, reading);
      return typeof reading === 'number' || reading === 'no_value' ? undefined : reading;
    },
  };
}

function compileMap(map: Readonly<Record<string, number>>): (text: string) => ValueReading {
  const exact = new Map(Object.entries(map));
  const byLowerCase = new Map([...exact].toReversed().map(([text, number]) => [text.toLowerCase(), number]));
  const other = exact.get('*');
  return (text) => {
    const number = exact.get(text) ?? byLowerCase.get(text.toLowerCase()) ?? other;
    return number ?? (isKnownForm(text) ? 'other_form' : 'unknown_text');
  };
}

function compileConversion(definition: MetricDefinition): (text: string, context: DateContext) => ValueReading {
  const { bit, factor = 1, offset = 0 } = definition;
  const read = compileFormat(definition);
  if (bit !== undefined) {
    return (text, context) => {
      const reading = read(text, context);
      if (typeof reading !== 'number') return reading;
      return Number.isSafeInteger(reading) && reading >= 0 ? Math.floor(reading / 2 ** bit) % 2 : 'unknown_form';
    };
  }
  if (factor === 1 && offset === 0) return read;
  return (text, context) => {
    const reading = read(text, context);
    if (typeof reading !== 'number') return reading;
    // Drops the digits of binary fractions, as in 3 * 0.1.
    const number = Number((reading * factor + offset).toPrecision(DECIMALS_MAX));
    return Number.isFinite(number) ? number : 'not_finite';
  };
}

/** Significant decimal digits of a double. */
const DECIMALS_MAX = 15;

function compileFormat(definition: MetricDefinition): (text: string, context: DateContext) => ValueReading {
  const { form, unit, part, hasBinaryPrefixes } = definition;
  const declared = unit === undefined ? undefined : new DeclaredUnit(unit, hasBinaryPrefixes);
  const format = { form, unit: declared, part: part ?? 1 };
  return (text, context) => {
    const isFlag = form === undefined && unit === undefined && /^(?:true|false)$/i.test(text);
    return isFlag ? Number(text.toLowerCase() === 'true') : readValue(text, format, context);
  };
}

function isField(value: string, pattern: FieldPattern | undefined, field: string): boolean {
  return pattern ? pattern.match(field) !== undefined : value.toLowerCase() === field.toLowerCase();
}
