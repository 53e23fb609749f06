/**
 * Why an archive could not be read to its end:
 * - `truncated`: it ends too early; everything whole before that was delivered.
 * - `corrupt`: a checksum or the structure is wrong; everything verified before that was delivered.
 * - `too-large`: a bound on the output was reached.
 * - `unsupported`: a variant that no bzip2 since 1999 writes.
 */
export type Bzip2ErrorCode = 'truncated' | 'corrupt' | 'too-large' | 'unsupported';

/** The decoder's one error class. */
export class Bzip2Error extends Error {
  override readonly name = 'Bzip2Error';
  readonly code: Bzip2ErrorCode;
  /** Where in the compressed bytes the reason was seen: the offset of a bit, counted from the first one. */
  readonly bit: number;
  constructor(code: Bzip2ErrorCode, message: string, options: { readonly bit: number }) {
    super(message);
    this.code = code;
    this.bit = options.bit;
  }
}
