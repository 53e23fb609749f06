import { JOINED } from '../module-settings/grammar.ts';
import type { ResourceDefinition } from '../module-settings/module-schema.ts';
import type { MappingFaultReason } from './family-collector.ts';
import { type LabelReading, type Row, RowPath, toPlainText } from './rows.ts';

/** Origin of a sample besides its row. */
export interface SampleOrigin {
  readonly resource: string;
  readonly slot: string;
  /** Text matched by the star in the field's name; empty without a star. */
  readonly match: string;
  /** Returns the fields of the joined row. Absent: no join. */
  readonly joinedTo?: ((row: Row) => JoinedFields | undefined) | undefined;
}

/** Value of a name or selection field when nothing is selected. */
export const NO_SELECTION = '---';

type Source =
  | { readonly kind: 'field' | 'outer' | 'joined'; readonly field: string }
  | { readonly kind: 'fixed'; readonly text: string }
  | { readonly kind: 'resource' | 'slot' | 'index' | 'match' };

/** The label sources of one metric. */
export class LabelSources {
  readonly #sources: readonly (readonly [string, Source])[];
  readonly #informative: ReadonlySet<string>;
  readonly #nullValues: ReadonlySet<string>;
  /** Names of the labels that distinguish the rows of a list: those of the resource that come from fields. */
  readonly #identifying: ReadonlySet<string>;

  /** `own` labels take precedence over the `shared` ones of the resource. `nullValues`: texts that give no label. */
  constructor(
    shared: Readonly<Record<string, string>>,
    own: Readonly<Record<string, string>>,
    nullValues: readonly string[] = [],
  ) {
    this.#sources = Object.entries({ ...shared, ...own }).map(([name, text]) => [name, parseSource(text)]);
    const fromFields = this.#sources.flatMap(([name, source]) => ('field' in source ? [name] : []));
    const ownFields = fromFields.filter((name) => Object.hasOwn(own, name));
    this.#informative = new Set(ownFields.length > 0 ? ownFields : fromFields);
    this.#nullValues = new Set([...nullValues, NO_SELECTION]);
    this.#identifying = new Set(fromFields.filter((name) => Object.hasOwn(shared, name) && !Object.hasOwn(own, name)));
  }

  /** Returns true if a field gives a label; `levelsUp` 1: a field of the enclosing row. */
  covers(field: string, levelsUp: number): boolean {
    const kind = levelsUp === 0 ? 'field' : 'outer';
    return this.#sources.some(
      ([, source]) => source.kind === kind && source.field.toLowerCase() === field.toLowerCase(),
    );
  }

  /** Returns true if the row has a field that gives a label, whatever its value. */
  isPresent(row: Row): boolean {
    return this.#sources.some(([, source]) => source.kind === 'field' && row.read(source.field) !== undefined);
  }

  /** Reads the labels; without `row` for a count of rows. Samples of one row share the result, unless a star differs. */
  read(row: Row | undefined, origin: SampleOrigin): LabelReading {
    if (!row || origin.match !== '') return this.#read(row, origin);
    const known = row.readings.get(this);
    if (known) return known;
    const reading = this.#read(row, origin);
    row.readings.set(this, reading);
    return reading;
  }

  #read(row: Row | undefined, origin: SampleOrigin): LabelReading {
    const labels: Record<string, string> = {};
    let isInformative = this.#informative.size === 0;
    let [needsName, hasName] = [false, false];
    for (const [name, source] of this.#sources) {
      const text = this.#readSource(source, row, origin);
      if (typeof text !== 'string') return text;
      if (this.#identifying.has(name)) {
        needsName ||= isNamedIn(source, row);
        hasName ||= text !== '';
      }
      if (text === '') continue;
      isInformative ||= this.#informative.has(name);
      labels[name] = text;
    }
    return { labels, isInformative, isNamed: hasName || !needsName };
  }

  #readSource(source: Source, row: Row | undefined, origin: SampleOrigin): string | { fault: MappingFaultReason } {
    switch (source.kind) {
      case 'fixed':
        return source.text;
      case 'index':
        return row ? String(row.index) : '';
      case 'field':
      case 'outer': {
        const outer = source.kind === 'outer' ? row?.outer?.read(source.field) : undefined;
        // An empty field of the enclosing row takes precedence as well.
        const plain = toPlainText(outer === undefined ? row?.read(source.field) : outer) ?? { text: '' };
        if ('fault' in plain) return plain;
        return this.#nullValues.has(plain.text) ? '' : plain.text;
      }
      case 'joined':
        return (row && origin.joinedTo?.(row)?.get(source.field.toLowerCase())) ?? '';
      case 'resource':
      case 'slot':
      case 'match':
        return cleanName(origin[source.kind]);
    }
  }
}

/** Only rows of a list have an enclosing row. */
function isNamedIn({ kind }: Source, row: Row | undefined): boolean {
  return (kind === 'field' && row?.outer !== undefined) || (kind === 'outer' && row?.outer?.outer !== undefined);
}

function parseSource(text: string): Source {
  if (text.startsWith('=')) return { kind: 'fixed', text: text.slice(1) };
  if (text.startsWith('..')) return { kind: 'outer', field: text.slice(2) };
  if (text.startsWith(JOINED)) return { kind: 'joined', field: text.slice(JOINED.length) };
  const name = text.slice(1);
  if (text.startsWith('$') && (name === 'resource' || name === 'slot' || name === 'index' || name === 'match')) {
    return { kind: name };
  }
  return { kind: 'field', field: text };
}

/** The matched part of a field name is as untrusted as a value. */
function cleanName(name: string): string {
  const plain = toPlainText(name);
  return plain && 'text' in plain ? plain.text : '';
}

/** Fields of the rows of another resource, by the key of each. */
export type JoinTable = ReadonlyMap<string, JoinedFields>;
/** By name in lower case. Empty fields are left out. */
type JoinedFields = ReadonlyMap<string, string>;

type JoinDefinition = NonNullable<ResourceDefinition['join']>;

const KEY = 'key';
/** Texts of a field that mean "nothing". */
const NOTHING: ReadonlySet<string> = new Set(['', NO_SELECTION]);

/** Finds the row of another resource that belongs to a row. */
export class CompiledJoin {
  readonly definition: JoinDefinition;
  readonly #rows: RowPath;
  readonly #by: LabelSources;
  readonly #fields: readonly string[];

  constructor(definition: JoinDefinition, fields: readonly string[]) {
    this.definition = definition;
    this.#rows = new RowPath(definition.each);
    this.#by = new LabelSources({ [KEY]: definition.by }, {});
    this.#fields = [...new Set(fields.map((field) => field.toLowerCase()))];
  }

  /** Returns the needed rows of a document of the other resource. Of several rows with the same key the first is used. */
  extract(document: unknown): JoinTable {
    const table = new Map<string, JoinedFields>();
    for (const row of this.#rows.find(document)?.rows ?? []) {
      const key = readText(row, this.definition.key);
      if (NOTHING.has(key) || table.has(key)) continue;
      const fields = this.#fields.map((field) => [field, readText(row, field)] as const);
      table.set(key, new Map(fields.filter(([, text]) => !NOTHING.has(text))));
    }
    return table;
  }

  /** Returns the fields that belong to a row; `undefined` if no row has its key. */
  find(table: JoinTable, row: Row, origin: SampleOrigin): JoinedFields | undefined {
    const reading = this.#by.read(row, origin);
    const key = 'labels' in reading ? reading.labels[KEY] : undefined;
    return key === undefined ? undefined : table.get(key);
  }

  /** Returns true if a field of a row is the key. */
  covers(field: string, levelsUp: number): boolean {
    return this.#by.covers(field, levelsUp);
  }
}

function readText(row: Row, field: string): string {
  const plain = toPlainText(row.read(field));
  return plain && 'text' in plain ? plain.text : '';
}
