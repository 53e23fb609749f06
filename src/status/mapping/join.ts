import type { JoinDefinition } from '../module-settings/module-definition.ts';
import type { SampleOrigin } from './label-sources.ts';
import { LabelSources } from './label-sources.ts';
import { type Row, RowPath, toPlainText } from './rows.ts';

/** Fields of the rows of another resource, by the key of each. */
export type JoinTable = ReadonlyMap<string, JoinedFields>;
/** Fields of one row, by their names in small letters. Empty ones are left out. */
export type JoinedFields = ReadonlyMap<string, string>;

const KEY = 'key';
/** A field that means "nothing", as for labels. */
const NOTHING: ReadonlySet<string> = new Set(['', '---']);

/** Finds the row of another resource that belongs to a row. */
export class CompiledJoin {
  readonly definition: JoinDefinition;
  readonly #rows: RowPath;
  readonly #by: LabelSources;
  readonly #fields: readonly string[];

  /** `fields`: those that labels are made of. */
  constructor(definition: JoinDefinition, fields: readonly string[]) {
    this.definition = definition;
    this.#rows = new RowPath(definition.each);
    this.#by = new LabelSources({ [KEY]: definition.by }, {});
    this.#fields = [...new Set(fields.map((field) => field.toLowerCase()))];
  }

  /** Returns what is needed of a document of the other resource. Of several rows with the same key the first counts. */
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

  /** Finds the fields that belong to a row; `undefined` if no row has its key. */
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
