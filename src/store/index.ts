/**
 * store: durable state.
 *
 * Owns: positions of logs, the spool of undelivered records, the cursor of each sink, and the transactions over them.
 * Does not own: what a position or a record means.
 * Start reading at: embedded-store.ts.
 */
export {
  EmbeddedStore,
  type EmbeddedStoreOptions,
  type LogCommit,
  type SpoolCursor,
  type SpoolSlice,
} from './embedded-store.ts';
export { StoreError } from './errors.ts';
