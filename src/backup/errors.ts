import { CodedError } from '../base/index.ts';

/**
 * `write`, `read`: the folder of the backups. `damaged`: a kept file is not what its checksum says. `too-large`, `empty`,
 * `not-a-profile`: what the router sent. `too-many`: profiles of one router. `bad-name`: a profile's name is none. `schedule`: an expression is none.
 * `too-different`: two versions take too long to compare.
 */
export type BackupFailure =
  | 'write'
  | 'read'
  | 'damaged'
  | 'too-large'
  | 'empty'
  | 'not-a-profile'
  | 'too-many'
  | 'bad-name'
  | 'schedule'
  | 'too-different';

/** Everything that can go wrong with kept profiles on this side of the connection. */
export class BackupError extends CodedError<BackupFailure> {
  override readonly name = 'BackupError';
}

const FOLDER_HINT = 'Check that the folder of backup.path can be written to and that its disk is not full';

/** A failure of the file system. */
export function toFileError(code: 'read' | 'write', what: string, cause: unknown): BackupError {
  return cause instanceof BackupError
    ? cause
    : new BackupError(code, what, { disposition: 'operator', hint: FOLDER_HINT, cause });
}

/** The system's code of a failure of the file system, as in `ENOENT`. */
export function readSystemCode(cause: unknown): unknown {
  return cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
}
