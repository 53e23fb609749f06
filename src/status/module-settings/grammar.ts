/* Bounds of modules. */

/** Ten times the number of shipped modules. */
export const MODULES_MAX = 100;
/** Each is a request to every router that has the module. */
export const MODULE_RESOURCES_MAX = 100;
/** Several times the fields of the richest resource. */
export const RESOURCE_METRICS_MAX = 200;
/** Four times the longest names of fields and resources of routers. */
export const FIELD_CHARS_MAX = 128;
/** The longest path of the interface with a query. */
export const RESOURCE_PATH_CHARS_MAX = 256;
/** Documents have two levels of rows. */
const ROW_STEPS_MAX = 8;

/* Syntax of a module: resource paths, row paths, and sources of values and labels. Only recognised here; the mapping interprets them. */

const FIELD = /^[A-Za-z0-9_-]+$/;
/** Below `/status/`; a star after the first segment stands for a slot number. */
const STATUS_PATH = /^[a-z0-9_]+\*?(\/[a-z0-9_]+)*$/i;
/** Below the root of the interface, with an optional query. */
const ROOT_PATH = /^(\/[a-z0-9_]+)+(\?[a-z0-9_]+=[a-z0-9_.,%-]*(&[a-z0-9_]+=[a-z0-9_.,%-]*)*)?$/i;
const STEP = /^[A-Za-z0-9_-]+(\[\])?$/;

/** A value that is not a field: the number of rows. */
export const COUNT = '$count';
/** Label value of a state set for texts that are not in its list, so it cannot be in the list. */
export const UNKNOWN_STATE = 'unknown';
/** Group of a metric's pattern that holds the value. */
export const VALUE_GROUP = 'value';
/** Label sources besides a field and a fixed text. */
export const SOURCE_VARIABLES = ['$resource', '$slot', '$index', '$match'] as const;

/** Returns true for the path of a resource: `lte*`, `sysdetail/system`, `/profiles?x=1`. */
export function isResourcePath(text: string): boolean {
  return STATUS_PATH.test(text) || ROOT_PATH.test(text);
}

/** Returns true for a path to rows of a document: `status.unique`, `status.list[].sublist`. */
export function isRows(text: string): boolean {
  const steps = text.split('.');
  return steps.length <= ROW_STEPS_MAX && steps.every((step) => STEP.test(step)) && !text.endsWith(']');
}

/** Returns true for the name of a field. */
export function isField(text: string): boolean {
  return FIELD.test(text);
}

/** Prefix of a label source that is a field of the joined row. */
export const JOINED = '@';

/** Returns true for the source of a label value. */
export function isLabelSource(text: string): boolean {
  if (text.startsWith('=')) return true;
  if (text.startsWith(JOINED)) return FIELD.test(text.slice(JOINED.length));
  if (text.startsWith('$')) return SOURCE_VARIABLES.some((variable) => variable === text);
  return FIELD.test(text.startsWith('..') ? text.slice(2) : text);
}
