import { CodedError } from '../base/index.ts';

/**
 * - `absent`: the bucket does not exist.
 * - `different`: the bucket has other settings than it needs.
 * - `format`: the bucket has another format, and is left as it is.
 * - `taken`: another process holds the lease of this replica's name.
 * - `outdated`: a key was changed by somebody else.
 * - `silent`: changes of the bucket do not arrive.
 * - `away`: there is no connection to the engine.
 */
export type ClusterFailure = 'absent' | 'different' | 'format' | 'taken' | 'outdated' | 'silent' | 'away';

/** A failure of membership. */
export class ClusterError extends CodedError<ClusterFailure> {
  override readonly name = 'ClusterError';
}
