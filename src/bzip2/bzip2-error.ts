/**
 * Why an archive could not be read to its end:
 * - `truncated`: it ends too early; everything complete before that was delivered.
 * - `corrupt`: a checksum or the structure is wrong; everything verified before that was delivered.
 * - `too-large`: a limit of the output was reached.
 * - `unsupported`: a variant that no bzip2 since 1999 writes.
 */
export type Bzip2ErrorCode = 'truncated' | 'corrupt' | 'too-large' | 'unsupported';

/** The error class of the decoder. */
export class Bzip2Error extends Error {
  override readonly name = 'Bzip2Error';
  readonly code: Bzip2ErrorCode;
  /** Position of the fault in the compressed bytes: offset in bits, from 0. */
  readonly bit: number;
  constructor(code: Bzip2ErrorCode, message: string, options: { readonly bit: number }) {
    super(message);
    this.code = code;
    this.bit = options.bit;
  }
}
