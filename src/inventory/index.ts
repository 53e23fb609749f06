/**
 * inventory: lists of routers from external sources.
 *
 * Owns: the settings of sources, requests to them, the conversion of their answers, the addresses that a source may
 * name, the last good answer, and the guard against answers in which many routers are missing.
 * Does not own: the files in which answers are kept (store), the merging of their routers with groups and defaults
 * (config), when they are loaded (agent).
 * Start reading at: settings.ts for the keys, source-reader.ts for one reading, source-keeper.ts for which answer is
 * used.
 */
export { findAddressFault, parseAllowedAddress } from './allowed-addresses.ts';
export { describeTooMany, type ListedRouters, toHeapMb } from './router-list.ts';
export { readSources, SOURCES_MAX, type SourceSettings, sourcesSchema } from './settings.ts';
export { type AnswerFiles, findMissing, SourceKeeper, type SourceOutcome } from './source-keeper.ts';
export { offerLists, SourceReader } from './source-reader.ts';
