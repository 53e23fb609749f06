/**
 * store: durable state on the disk of one machine.
 *
 * Owns: positions of logs, the spool of undelivered records, the cursor of each sink, the transactions over them, values
 * (small facts about a router), the last lines of each router for the pages, dead letters, and the file that moves state
 * between stores.
 * Does not own: the meaning of a position, a record or a value; the shared store of a cluster (cluster), which has the same
 * contracts (model).
 * Start reading at: embedded-store.ts.
 *
 *   embedded-store.ts                 positions and records in one database, and its recovery
 *   database-format.ts                the SQL tables of the state, and their versions
 *   sqlite-file.ts, rebuild.ts        an open database, disk space, errors; what is saved of a damaged one
 *   spool-table.ts, spool-batches.ts  records on their way to the sinks: totals and backlogs; rows
 *   sink-cursors.ts                   how far each sink is, and its redelivery
 *   router-tables.ts                  facts and values of routers; removal of routers
 *   recent-lines.ts                   the last lines of each router
 *   dead-letter-store.ts, dead-letter-file.ts  dead letters, and their database
 *   state-transfer.ts, moved-file.ts  export and import of state; the file between
 *   state-folder.ts, settings.ts      checks of the folder; setting keys
 *   answer-files.ts                   other texts in the folder of the state
 */
export { AnswerFiles } from './answer-files.ts';
export type { DeadLetterOptions } from './dead-letter-file.ts';
export { DeadLetterStore } from './dead-letter-store.ts';
export { EmbeddedStore, type EmbeddedStoreOptions } from './embedded-store.ts';
export type { RecentBatch, RecentPlace, TimeSpan } from './recent-lines.ts';
export {
  type DeadLetterSettings,
  deadLettersSchema,
  type StorageSettings,
  storageSchema,
} from './settings.ts';
export { examineStateFolder, type FolderFinding, findFolderFault } from './state-folder.ts';
export {
  type ExportOptions,
  exportState,
  type ImportOptions,
  importState,
  onDisk,
  type TransferResult,
} from './state-transfer.ts';
