import type { Labels } from '../../model/index.ts';
import type { MappingFaultReason } from './mapping-fault.ts';
import { toPlainText } from './plain-text.ts';
import type { Row } from './rows.ts';

/** Where a sample comes from, beside its row. */
export interface SampleOrigin {
  readonly resource: string;
  readonly slot: string;
  /** What the star of the field's name stood for; empty without one. */
  readonly match: string;
}

/**
 * The labels of a sample, without empty ones; or why there is no sample. They are telling unless every field that could tell
 * something is empty: those of the metric's own labels or, if it has none, of its resource's.
 */
export type LabelReading =
  | { readonly labels: Labels; readonly isTelling: boolean }
  | { readonly fault: MappingFaultReason };

/** What a field of a name or selection says when nothing is chosen. */
export const NO_SELECTION = '---';

type Source =
  | { readonly kind: 'field' | 'outer'; readonly field: string }
  | { readonly kind: 'fixed'; readonly text: string }
  | { readonly kind: 'resource' | 'slot' | 'index' | 'match' };

/** The labels of one metric. */
export class LabelSources {
  readonly #sources: readonly (readonly [string, Source])[];
  /** Names of the labels that tell something. */
  readonly #telling: ReadonlySet<string>;
  readonly #nullValues: ReadonlySet<string>;

  /**
   * The metric's `own` labels go before the `shared` ones of its resource. `nullValues`: texts of fields that give no label;
   * an empty one and `---` never give one.
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
  }

  /** Whether a field gives a label; `levelsUp` 1: a field of the row around. */
  covers(field: string, levelsUp: number): boolean {
    const kind = levelsUp === 0 ? 'field' : 'outer';
    return this.#sources.some(
      ([, source]) => source.kind === kind && source.field.toLowerCase() === field.toLowerCase(),
    );
  }

  /** Whether the row has a field that gives a label, whatever is in it. */
  isPresent(row: Row): boolean {
    return this.#sources.some(([, source]) => source.kind === 'field' && row.read(source.field) !== undefined);
  }

  /** `row` is absent for a count of rows, which only has the labels that need no row. */
  read(row: Row | undefined, origin: SampleOrigin): LabelReading {
    const labels: [string, string][] = [];
    let isTelling = this.#telling.size === 0;
    for (const [name, source] of this.#sources) {
      const text = this.#readSource(source, row, origin);
      if (typeof text !== 'string') return text;
      if (text === '') continue;
      isTelling ||= this.#telling.has(name);
      labels.push([name, text]);
    }
    return { labels: Object.fromEntries(labels), isTelling };
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
        // What is around and empty is no reason to look further.
        const plain = toPlainText(outer === undefined ? row?.read(source.field) : outer) ?? { text: '' };
        if ('fault' in plain) return plain;
        return this.#nullValues.has(plain.text) ? '' : plain.text;
      }
      case 'resource':
      case 'slot':
      case 'match':
        return cleanName(origin[source.kind]);
    }
  }
}

function parseSource(text: string): Source {
  if (text.startsWith('=')) return { kind: 'fixed', text: text.slice(1) };
  if (text.startsWith('..')) return { kind: 'outer', field: text.slice(2) };
  const name = text.slice(1);
  if (text.startsWith('$') && (name === 'resource' || name === 'slot' || name === 'index' || name === 'match')) {
    return { kind: name };
  }
  return { kind: 'field', field: text };
}

/** Part of a field's name is as untrusted as a value. */
function cleanName(name: string): string {
  const plain = toPlainText(name);
  return plain && 'text' in plain ? plain.text : '';
}
