import { ROW_STEPS_MAX } from './bounds.ts';

/**
 * The small languages of a module: where a resource is, which rows it has, where a value or a label comes from. Here they
 * are only told from what is none of them; the room that reads resources gives them their meaning.
 */

const FIELD = /^[A-Za-z0-9_-]+$/;
const FIELD_PATTERN = /^[A-Za-z0-9_-]*\*?[A-Za-z0-9_-]*$/;
/** Below `/status/`; a star after the first segment stands for the number of a slot. */
const STATUS_PATH = /^[a-z0-9_]+\*?(\/[a-z0-9_]+)*$/i;
/** Below the root of the interface, with a query if need be. */
const ROOT_PATH = /^(\/[a-z0-9_]+)+(\?[a-z0-9_]+=[a-z0-9_.,%-]*(&[a-z0-9_]+=[a-z0-9_.,%-]*)*)?$/i;
const STEP = /^[A-Za-z0-9_-]+(\[\])?$/;

/** A value that is not in a field: how many rows there are. */
export const COUNT = '$count';
/** Group of the pattern of a metric that holds the value. */
export const VALUE_GROUP = 'value';
/** Label sources besides a field and a fixed text. */
export const SOURCE_VARIABLES = ['$resource', '$slot', '$index', '$match'] as const;

/** Tells whether a text is the path of a resource: `lte*`, `sysdetail/system`, `/profiles?x=1`. */
export function isResourcePath(text: string): boolean {
  return STATUS_PATH.test(text) || ROOT_PATH.test(text);
}

/** Tells whether the path of a resource stands below the root of the interface instead of below `/status/`. */
export function isRootPath(path: string): boolean {
  return path.startsWith('/');
}

/** Tells whether the first segment of a path has the number of a slot, or a star for one. */
export function hasSlot(path: string): boolean {
  return /^[^/]*[0-9*](\/|$)/.test(path);
}

/** Tells whether a text names the rows of a document: `status.unique`, `status.list[].sublist`. */
export function isRows(text: string): boolean {
  const steps = text.split('.');
  return steps.length <= ROW_STEPS_MAX && steps.every((step) => STEP.test(step)) && !text.endsWith(']');
}

/** Tells whether there is something around the rows that a label can come from, as there is around a list. */
export function canHaveOuterRow(rows: string): boolean {
  return rows.includes('[]') || !/(^|\.)unique$/.test(rows);
}

/** Tells whether a text says where the key of a row comes from: as a label, but of the row itself. */
export function isJoinKey(text: string): boolean {
  return isLabelSource(text) && !text.startsWith('=') && !text.startsWith(JOINED) && text !== '$match';
}

/** Tells whether a text is the path of one resource, without a star. */
export function isSinglePath(text: string): boolean {
  return isResourcePath(text) && !text.includes('*');
}

/** Tells whether a text is the name of a field. */
export function isField(text: string): boolean {
  return FIELD.test(text);
}

/** A bound of a range of versions. */
export interface VersionBound {
  readonly is: '<' | '<=' | '=' | '>=' | '>';
  readonly version: readonly number[];
}

const BOUND = /^(<|<=|=|>=|>)(\d{1,9}(?:\.\d{1,9}){0,7})$/;
/** A beginning and an end, and exceptions for which there is no word. */
const BOUNDS_MAX = 4;

/** Parses a range of versions such as `>=5.5 <9`; `undefined` for any other text. */
export function parseVersionRange(text: string): readonly VersionBound[] | undefined {
  const parts = text.trim().split(/\s+/);
  const bounds = parts.flatMap((part): VersionBound[] => {
    const [, is, version] = BOUND.exec(part) ?? [];
    return is === undefined || version === undefined
      ? []
      : [{ is: is as VersionBound['is'], version: version.split('.').map(Number) }];
  });
  return bounds.length === parts.length && bounds.length <= BOUNDS_MAX ? bounds : undefined;
}

/** Tells whether a text is a field, with one star a pattern of fields, or the count of rows. */
export function isValueSource(text: string): boolean {
  return text === COUNT || (text !== '' && FIELD_PATTERN.test(text));
}

/** Mark of a label that comes from a field of the joined row. */
export const JOINED = '@';

/** Tells whether a text says where the value of a label comes from. */
export function isLabelSource(text: string): boolean {
  if (text.startsWith('=')) return true;
  if (text.startsWith(JOINED)) return FIELD.test(text.slice(JOINED.length));
  if (text.startsWith('$')) return SOURCE_VARIABLES.some((variable) => variable === text);
  return FIELD.test(text.startsWith('..') ? text.slice(2) : text);
}
