/** Bounds of modules. Each has its unit in the name and its reason beside it. */

/** Ten times what is shipped. */
export const MODULES_MAX = 100;
/** Each is a request to every router that has the module. */
export const MODULE_RESOURCES_MAX = 100;
/** Several times the fields of the richest resource. */
export const RESOURCE_METRICS_MAX = 200;
/** Each is a series of every router that has the module. */
export const METRIC_STATES_MAX = 64;
/** Texts of one field that mean something. */
export const METRIC_TEXTS_MAX = 256;
/** Names of fields and resources, as routers have them, are a quarter of this. */
export const FIELD_CHARS_MAX = 128;
/** The longest path of the interface with a query. */
export const RESOURCE_PATH_CHARS_MAX = 256;
/** Rows inside rows: the documents have two levels. */
export const ROW_STEPS_MAX = 8;
/** The highest bit of the whole numbers that a double holds exactly. */
export const VALUE_BIT_MAX = 52;
/** Numbers in one text. */
export const VALUE_PART_MAX = 100;
/** The same limit as for modules. */
export const MODULE_FILES_MAX = 100;
/** All files of modules together: far beyond what the bounds of a module allow to be useful. */
export const MODULE_FILES_BYTES_MAX = 16 * 1024 ** 2;
