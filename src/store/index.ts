/**
 * store: durable state.
 *
 * Owns: positions of logs, the spool of undelivered records, the cursor of each sink, the transactions over
 * them, and notes (small facts about a router).
 * Does not own: what a position, a record or a note means.
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
