import { isPlainObject } from '../../base/index.ts';
import { toPlainText } from '../mapping/rows.ts';

/** Path steps to a row; a module supports no more. */
const STEPS_MAX = 8;
/** Row paths in one document. Real ones have three. */
const ROW_SETS_MAX = 64;
/** Rows per list and fields per row, as in the mapping. */
const ROWS_MAX = 256;
const FIELDS_MAX = 512;
/** Different texts per field: more are not a list of states. */
const TEXTS_MAX = 64;

/** A field of the rows at one path. */
export interface SeenField {
  readonly name: string;
  /** Different non-empty texts of the field. */
  readonly texts: readonly string[];
  /** True if all values are scalars; lists and overlong texts are not. */
  readonly isPlain: boolean;
  /** True if the field distinguishes the rows of each list. */
  readonly isUnique: boolean;
}

/** A path to rows in a document. */
export interface SeenRowSet {
  /** The path as in the key `each` of a module: `status.unique`, `status.list[].sublist`. Empty for the document itself. */
  readonly each: string;
  readonly isList: boolean;
  /** {@link each} of the enclosing rows, whose fields can become labels. */
  readonly outer: string | undefined;
  readonly rows: number;
  /** Number of rows in the longest list. */
  readonly rowsMost: number;
  readonly fields: readonly SeenField[];
}

interface FieldRecord {
  readonly name: string;
  readonly texts: Set<string>;
  isPlain: boolean;
  /** Number of lists whose rows the field distinguishes. */
  uniqueIn: number;
}

interface RowSetRecord {
  readonly parent: RowSetRecord | undefined;
  /** Field names from the document to here, joined by dots, for both lists and objects. */
  readonly names: string;
  /** True if any document has a list here: a path with `[]` also reads an object, but not the reverse. */
  isList: boolean;
  rows: number;
  rowsMost: number;
  /** Number of non-empty lists, or of objects. */
  lists: number;
  readonly fields: Map<string, FieldRecord>;
}

/** Finds all paths to rows in documents of one resource or of several slots. Accepts anything a router can send. */
export function exploreDocuments(documents: readonly unknown[]): readonly SeenRowSet[] {
  const explorer = new Explorer();
  for (const document of documents) explorer.explore(document);
  return explorer.rowSets;
}

class Explorer {
  readonly #rowSets = new Map<string, RowSetRecord>();

  get rowSets(): readonly SeenRowSet[] {
    return [...this.#rowSets.values()].map((record) => ({
      each: toPath(record),
      isList: record.isList,
      outer: this.#findOuter(record),
      rows: record.rows,
      rowsMost: record.rowsMost,
      fields: [...record.fields.values()].map(({ name, texts, isPlain, uniqueIn }) => {
        return { name, texts: [...texts], isPlain, isUnique: uniqueIn === record.lists };
      }),
    }));
  }

  explore(document: unknown): void {
    if (isPlainObject(document)) this.#addRows([document], { parent: undefined, names: '', isList: false }, 0);
  }

  #addRows(rows: readonly object[], where: Pick<RowSetRecord, 'parent' | 'names' | 'isList'>, steps: number): void {
    const rowSet = this.#open(where);
    if (!rowSet || rows.length === 0) return;
    rowSet.isList ||= where.isList;
    rowSet.rows += rows.length;
    rowSet.rowsMost = Math.max(rowSet.rowsMost, rows.length);
    rowSet.lists++;
    const seen = rows.slice(0, ROWS_MAX);
    const texts = new Map<string, Map<object, string>>();
    for (const row of seen) {
      for (const [name, value] of Object.entries(row).slice(0, FIELDS_MAX)) {
        if (isPlainObject(value) || isRowList(value)) this.#addBelow(name, value, rowSet, steps);
        else recordField(rowSet, name, value, row, texts);
      }
    }
    for (const [key, own] of texts) {
      const field = rowSet.fields.get(key);
      if (field && own.size === seen.length && new Set(own.values()).size === own.size) field.uniqueIn++;
    }
  }

  #addBelow(name: string, value: object, parent: RowSetRecord, steps: number): void {
    if (steps >= STEPS_MAX) return;
    const names = parent.names === '' ? name : `${parent.names}.${name}`;
    const rows = Array.isArray(value) ? value.filter(isPlainObject) : [value];
    this.#addRows(rows, { parent, names, isList: Array.isArray(value) }, steps + 1);
  }

  #open({ parent, names, isList }: Pick<RowSetRecord, 'parent' | 'names' | 'isList'>): RowSetRecord | undefined {
    const known = this.#rowSets.get(names);
    if (known) return known;
    if (this.#rowSets.size >= ROW_SETS_MAX) return undefined;
    const rowSet = { parent, names, isList, rows: 0, rowsMost: 0, lists: 0, fields: new Map<string, FieldRecord>() };
    this.#rowSets.set(names, rowSet);
    return rowSet;
  }

  /** As in the mapping: a list in a row is enclosed by the row, and an outermost list by the single values next to it. */
  #findOuter({ parent, isList }: RowSetRecord): string | undefined {
    if (!parent) return undefined;
    if (parent.isList) return toPath(parent);
    const around = this.#findOuter(parent);
    if (around !== undefined || !isList) return around;
    const sibling = this.#rowSets.get(parent.names === '' ? 'unique' : `${parent.names}.unique`) ?? parent;
    return sibling.names === '' ? undefined : toPath(sibling);
  }
}

function toPath({ parent, names }: RowSetRecord): string {
  if (!parent || parent.names === '') return names;
  return `${toPath(parent)}${parent.isList ? '[]' : ''}${names.slice(parent.names.length)}`;
}

/** Names that differ only in case are one field: the mapping reads either where a row lacks the other. */
function recordField(
  rowSet: RowSetRecord,
  name: string,
  value: unknown,
  row: object,
  texts: Map<string, Map<object, string>>,
): void {
  const key = name.toLowerCase();
  let field = rowSet.fields.get(key);
  if (!field) {
    if (rowSet.fields.size >= FIELDS_MAX) return;
    field = { name, texts: new Set(), isPlain: true, uniqueIn: 0 };
    rowSet.fields.set(key, field);
  }
  const plain = toPlainText(value);
  if (plain === undefined) return;
  if ('fault' in plain) {
    field.isPlain = false;
    return;
  }
  if (plain.text === '') return;
  if (field.texts.size < TEXTS_MAX) field.texts.add(plain.text);
  const own = texts.get(key);
  if (own) own.set(row, plain.text);
  else texts.set(key, new Map([[row, plain.text]]));
}

function isRowList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && (value.length === 0 || value.some(isPlainObject));
}
