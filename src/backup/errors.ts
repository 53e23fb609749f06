import { CodedError } from '../base/index.ts';

/**
 * - `write`, `read`: the backup folder cannot be written or read.
 * - `damaged`: a kept file does not match its checksum.
 * - `too-large`, `empty`, `not-a-profile`, `cut-off`: the router sent something unusable.
 * - `too-many`: the router has too many profiles.
 * - `bad-name`: a profile's name is unusable.
 * - `too-different`: comparing two versions takes too long.
 */
type BackupFailure =
  | 'write'
  | 'read'
  | 'damaged'
  | 'too-large'
  | 'empty'
  | 'not-a-profile'
  | 'cut-off'
  | 'too-many'
  | 'bad-name'
  | 'too-different';

/** A failure of kept profiles on this side of the connection. */
export class BackupError extends CodedError<BackupFailure> {
  override readonly name = 'BackupError';
}

const FOLDER_HINT = 'Check that the folder of backup.path can be written to and that its disk is not full';

export function toFileError(code: 'read' | 'write', what: string, cause: unknown): BackupError {
  return cause instanceof BackupError
    ? cause
    : new BackupError(code, what, { disposition: 'operator', hint: FOLDER_HINT, cause });
}
