import { isPlainObject } from '../../base/index.ts';
import type { Labels } from '../../model/index.ts';
import type { MappingFaultReason } from './family-collector.ts';

/**
 * The labels of a sample, without empty ones, or the reason why there is no sample. `isInformative` is false if every informative field
 * is empty: the fields of the metric's own labels or, without any, those of its resource. `isNamed` is false for a list row that lacks
 * all fields that are labels of its resource and distinguish it from other rows.
 */
export type LabelReading =
  | { readonly labels: Labels; readonly isInformative: boolean; readonly isNamed: boolean }
  | { readonly fault: MappingFaultReason };

/** Maximum number of rows examined per list and per document. A device has a handful of boards and some leases. */
const LIST_ROWS_MAX = 256;
const ROWS_MAX = 1024;
/** Maximum number of fields examined if none has exactly the name. */
const FIELDS_MAX = 512;
/** Up to this number of fields, a scan is faster than a map. */
const SCANNED_FIELDS_MAX = 64;

/** An object in a document whose fields become samples. */
export class Row {
  /** Position in its list, from 1. */
  readonly index: number;
  /** The enclosing row of a row in a sublist; for a row in a list, the single values next to the list. */
  readonly outer: Row | undefined;
  readonly readings = new Map<object, LabelReading>();
  readonly #fields: object;
  #names: readonly string[] | undefined;
  /** By name in lower case: the first exact name. */
  #exactNames: Map<string, string> | undefined;

  constructor(fields: object, index: number, outer: Row | undefined) {
    this.#fields = fields;
    this.index = index;
    this.outer = outer;
  }

  /** Returns an own field by its exact name, otherwise ignoring case. */
  read(name: string): unknown {
    if (Object.hasOwn(this.#fields, name)) return Reflect.get(this.#fields, name);
    const exactName = this.#findExactName(name.toLowerCase());
    return exactName === undefined ? undefined : Reflect.get(this.#fields, exactName);
  }

  #findExactName(lower: string): string | undefined {
    const names = this.#listNames();
    if (names.length > SCANNED_FIELDS_MAX) return this.#mapNames().get(lower);
    return names.find((name) => name.length === lower.length && name.toLowerCase() === lower);
  }

  /** Returns all own fields whose name matches, with the text matched by the star. */
  match(pattern: FieldPattern): { readonly matches: readonly (readonly [string, unknown])[]; readonly isCut: boolean } {
    const matches: [string, unknown][] = [];
    for (const exactName of this.#mapNames().values()) {
      const match = pattern.match(exactName);
      if (match === undefined) continue;
      if (matches.length >= MATCHES_MAX) return { matches, isCut: true };
      matches.push([match, Reflect.get(this.#fields, exactName)]);
    }
    return { matches, isCut: false };
  }

  #listNames(): readonly string[] {
    this.#names ??= Object.keys(this.#fields).slice(0, FIELDS_MAX);
    return this.#names;
  }

  #mapNames(): Map<string, string> {
    if (this.#exactNames) return this.#exactNames;
    const names = new Map<string, string>();
    for (const name of this.#listNames()) {
      if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), name);
    }
    this.#exactNames = names;
    return names;
  }
}

const MATCHES_MAX = 64;

/** A field name with one star, such as `input_*`. */
export class FieldPattern {
  readonly #prefix: string;
  readonly #suffix: string;

  constructor(pattern: string) {
    const [prefix = '', suffix = ''] = pattern.toLowerCase().split('*');
    this.#prefix = prefix;
    this.#suffix = suffix;
  }

  /** Returns the text matched by the star, which is never empty; `undefined` if the name does not match. */
  match(name: string): string | undefined {
    const lower = name.toLowerCase();
    const length = name.length - this.#prefix.length - this.#suffix.length;
    if (length < 1 || !lower.startsWith(this.#prefix) || !lower.endsWith(this.#suffix)) return undefined;
    return name.slice(this.#prefix.length, this.#prefix.length + length);
  }
}

/** Rows of a document. */
export interface FoundRows {
  readonly rows: readonly Row[];
  /** Total number of entries, including those not examined. */
  readonly count: number;
  /** True if there were more rows than are examined. */
  readonly isCut: boolean;
}

/** A path to the rows of a document: `status.unique`, `status.list`, `status.list[].sublist`, `profiles`. */
export class RowPath {
  /** Field names to a list or an object, then from each of its rows on, and so on. */
  readonly #legs: readonly (readonly string[])[];

  constructor(each: string) {
    const legs = each.split('[]').map((leg) => leg.split('.').filter((name) => name !== ''));
    this.#legs = legs.filter((leg, index) => index === 0 || leg.length > 0);
  }

  /** Returns `undefined` if the document has no such list or object. */
  find(document: unknown): FoundRows | undefined {
    const [first = [], ...others] = this.#legs;
    let found = isPlainObject(document) ? step(new Row(document, 1, undefined), first, undefined) : undefined;
    for (const leg of others) {
      if (!found) return undefined;
      const below = found.rows.map((row) => step(row, leg, row)).filter((rows) => rows !== undefined);
      found = {
        rows: below.flatMap(({ rows }) => rows),
        count: below.reduce((sum, { count }) => sum + count, 0),
        isCut: found.isCut || below.some(({ isCut }) => isCut),
      };
    }
    if (!found) return undefined;
    return { ...found, rows: found.rows.slice(0, ROWS_MAX), isCut: found.isCut || found.rows.length > ROWS_MAX };
  }
}

function step(start: Row, leg: readonly string[], outer: Row | undefined): FoundRows | undefined {
  let holder = start;
  for (const [index, name] of leg.entries()) {
    const value = holder.read(name);
    if (Array.isArray(value) && index === leg.length - 1) return toRows(value, outer ?? findSingle(holder));
    if (!isPlainObject(value)) return undefined;
    holder = new Row(value, 1, outer);
  }
  return { rows: [holder], count: 1, isCut: false };
}

/** The single values next to a list, or the object that holds the list. */
function findSingle(holder: Row): Row {
  const single = holder.read('unique');
  return isPlainObject(single) ? new Row(single, 1, undefined) : holder;
}

function toRows(list: readonly unknown[], outer: Row): FoundRows {
  const rows = list
    .slice(0, LIST_ROWS_MAX)
    .flatMap((entry, index) => (isPlainObject(entry) ? [new Row(entry, index + 1, outer)] : []));
  return { rows, count: list.length, isCut: list.length > LIST_ROWS_MAX };
}

/** Far above real texts; a hostile router must not fill memory. */
const TEXT_LENGTH_MAX = 512;

/** Texts that need no cleaning. */
const PLAIN = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

type PlainText = { readonly text: string } | { readonly fault: MappingFaultReason };

/** Returns a field's text without control characters and surrounding spaces; `undefined` if it is absent. */
export function toPlainText(value: unknown): PlainText | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return { text: String(value) };
  if (typeof value === 'number') return Number.isFinite(value) ? { text: String(value) } : { fault: 'not_finite' };
  if (typeof value !== 'string') return { fault: 'not_plain' };
  if (value.length > TEXT_LENGTH_MAX) return { fault: 'too_long' };
  return {
    text: PLAIN.test(value)
      ? value
      : value
          .toWellFormed()
          .replaceAll(/\p{Cc}/gu, ' ')
          .trim(),
  };
}
