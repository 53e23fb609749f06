import { CodedError, type Disposition } from '../../base/index.ts';

/**
 * Why an archive could not be read to its end:
 * - `truncated`: it ends too early; everything whole before that was delivered.
 * - `corrupt`: a checksum or the structure is wrong; everything verified before that was delivered.
 * - `too-large`: a bound on the output was reached.
 * - `unsupported`: a format, or a variant of one, that this product does not decode.
 * - `worker-lost`: the thread that decoded it died or stopped answering; says nothing about the archive.
 * - `closed`: the pool was closed meanwhile; says nothing about the archive.
 */
export type ArchiveErrorCode = 'truncated' | 'corrupt' | 'too-large' | 'unsupported' | 'worker-lost' | 'closed';

const DISPOSITIONS: Readonly<Record<ArchiveErrorCode, Disposition>> = {
  truncated: 'retry',
  corrupt: 'retry',
  'too-large': 'skip',
  unsupported: 'skip',
  'worker-lost': 'retry',
  closed: 'retry',
};

/** The archive codecs' one error class. */
export class ArchiveError extends CodedError<ArchiveErrorCode> {
  override readonly name = 'ArchiveError';
  /** Bit offset in the compressed bytes at which the fault was found; `undefined` when unknown. */
  readonly bit: number | undefined;
  constructor(code: ArchiveErrorCode, message: string, options: { bit?: number | undefined; cause?: unknown } = {}) {
    super(code, message, { disposition: DISPOSITIONS[code], cause: options.cause });
    this.bit = options.bit;
  }
}
