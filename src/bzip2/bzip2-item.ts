import type { Bzip2ErrorCode } from './bzip2-error.ts';

/** A stretch of a bzip2 archive that could not be decoded; whatever text stood there is missing from the output. */
export interface BlockLost {
  readonly kind: 'block-lost';
  /** Number in the archive, from 0; a damaged stretch counts as one block. */
  readonly block: number;
  /** First bit of the stretch in the compressed bytes. */
  readonly startBit: number;
  /** The bit behind its last one: the start of whatever was found next, or the end of the archive. */
  readonly endBit: number;
  /** Decoded bytes delivered before it. */
  readonly outputOffset: number;
  readonly code: Bzip2ErrorCode;
  /** What was wrong, in a sentence. */
  readonly reason: string;
}

/** Announces a whole block behind a lost one: its decoded bytes follow, up to the next marker. */
export interface BlockRecovered {
  readonly kind: 'block-recovered';
  readonly block: number;
  readonly startBit: number;
  /** The bit behind the block's last one. */
  readonly endBit: number;
  /** Decoded bytes delivered before it. */
  readonly outputOffset: number;
}

/** The archive was read to its end. */
export interface Bzip2End {
  readonly kind: 'end';
  readonly outputBytes: number;
  readonly blocks: number;
  readonly blocksLost: number;
  readonly paddingBytes: number;
}

/** Decoded bytes are a view that is valid until the next call of the decoder. */
export type Bzip2Item = Uint8Array | BlockLost | BlockRecovered | Bzip2End;
