/**
 * store: durable state.
 *
 * Owns: positions of logs, the spool of undelivered records, the cursor of each sink, the transactions over them, values
 * (small facts about a router), the last lines of each router for the pages, and dead letters (records permanently rejected by a sink).
 * On the disk of one machine (embedded-store.ts), or in an engine that the replicas of a cluster share (cluster/).
 * Does not own: what a position, a record or a value means.
 * Start reading at: embedded-store.ts (positions and records), spool-table.ts (batches and cursors), dead-letter-store.ts;
 * cluster/cluster-store.ts, cluster/commit-queue.ts (steps become batches).
 */
export { AnswerFiles } from './answer-files.ts';
export { ClusterStore, type ClusterStoreOptions } from './cluster/cluster-store.ts';
export { type ClusterInitOptions, initCluster } from './cluster/init.ts';
export type { ClusterStreamSize } from './cluster/stream.ts';
export { type ClusterPlaceOptions, inCluster, withClusterLetters } from './cluster/transfer.ts';
export {
  type EmbeddedStoreOptions,
  type LogChoice,
  RESUME_SHARE,
  type RecentBatch,
  type RecentPlace,
  type SinkStart,
  type SpoolCursor,
  type Store,
  type TimeSpan,
} from './contracts.ts';
export type { DeadLetterOptions } from './dead-letter-file.ts';
export { DeadLetterStore } from './dead-letter-store.ts';
export { EmbeddedStore } from './embedded-store.ts';
export { StoreError } from './errors.ts';
export type { DeadLetters, LetterBounds, LetterSelection, ListOptions, StoredLetter } from './letters.ts';
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
  type StatePlace,
  type TransferResult,
} from './state-transfer.ts';
