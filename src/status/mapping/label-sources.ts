import { JOINED } from '../module-settings/grammar.ts';
import type { MappingFaultReason } from './mapping-fault.ts';
import { type LabelReading, type Row, toPlainText } from './rows.ts';

/** Origin of a sample besides its row. */
export interface SampleOrigin {
  readonly resource: string;
  readonly slot: string;
  /** Text matched by the star in the field's name; empty without a star. */
  readonly match: string;
  /** Finds the fields of the joined row. Absent: nothing is joined. */
  readonly joinedTo?: ((row: Row) => ReadonlyMap<string, string> | undefined) | undefined;
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
  /** Names of the informative labels. */
  readonly #telling: ReadonlySet<string>;
  readonly #nullValues: ReadonlySet<string>;
  /** Names of the labels that tell the rows of a list apart: those of the resource that come from fields. */
  readonly #naming: ReadonlySet<string>;

  /**
   * The metric's `own` labels take precedence over the `shared` ones of its resource. `nullValues`: texts of fields
   * that give no label; an empty text and `---` never give one.
   */
  constructor(
    shared: Readonly<Record<string, string>>,
    own: Readonly<Record<string, string>>,
    nullValues: readonly string[] = [],
  ) {
    this.#sources = Object.entries({ ...shared, ...own }).map(([name, text]) => [name, parseSource(text)]);
    const fromFields = this.#sources.flatMap(([name, source]) => ('field' in source ? [name] : []));
    const ownFields = fromFields.filter((name) => Object.hasOwn(own, name));
    this.#telling = new Set(ownFields.length > 0 ? ownFields : fromFields);
    this.#nullValues = new Set([...nullValues, NO_SELECTION]);
    this.#naming = new Set(fromFields.filter((name) => Object.hasOwn(shared, name) && !Object.hasOwn(own, name)));
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

  /**
   * Reads the labels. `row` is absent for a count of rows, which has only labels that need no row. The result is the same
   * object for all samples of one row, unless they differ in what a star matches.
   */
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
    let isTelling = this.#telling.size === 0;
    let [needsName, hasName] = [false, false];
    for (const [name, source] of this.#sources) {
      const text = this.#readSource(source, row, origin);
      if (typeof text !== 'string') return text;
      if (this.#naming.has(name)) {
        needsName ||= isNamedIn(source, row);
        hasName ||= text !== '';
      }
      if (text === '') continue;
      isTelling ||= this.#telling.has(name);
      labels[name] = text;
    }
    return { labels, isTelling, isNamed: hasName || !needsName };
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

/** Returns true if a source is a field of a row of a list: only rows with an enclosing row are. */
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

/** Cleans the matched part of a field name, which is as untrusted as a value. */
function cleanName(name: string): string {
  const plain = toPlainText(name);
  return plain && 'text' in plain ? plain.text : '';
}
