import type { Bzip2ErrorCode } from './bzip2-error.ts';

/** A part of a bzip2 archive that could not be decoded; its text is missing from the output. */
export interface BlockLost {
  readonly kind: 'block-lost';
  /** Number in the archive, from 0; a damaged part counts as one block. */
  readonly block: number;
  /** First bit of the part in the compressed bytes. */
  readonly startBit: number;
  /** The bit after its last one: the start of whatever was found next, or the end of the archive. */
  readonly endBit: number;
  /** Number of decoded bytes delivered before it. */
  readonly outputOffset: number;
  readonly code: Bzip2ErrorCode;
  /** Description of the damage, as a sentence. */
  readonly reason: string;
}

/** Announces an intact block after a lost one: its decoded bytes follow, up to the next marker. */
export interface BlockRecovered {
  readonly kind: 'block-recovered';
  readonly block: number;
  readonly startBit: number;
  /** The bit after the block's last one. */
  readonly endBit: number;
  /** Number of decoded bytes delivered before it. */
  readonly outputOffset: number;
}

/** Bytes behind the end of an archive that belong to none. */
export interface Trailing {
  readonly bytes: number;
  /** The first of them. */
  readonly head: Uint8Array;
}

/** The archive was read to its end. */
export interface Bzip2End {
  readonly kind: 'end';
  readonly outputBytes: number;
  readonly blocks: number;
  readonly blocksLost: number;
  readonly paddingBytes: number;
  /** Bytes behind the last stream that are neither zeros nor another one. */
  readonly trailing: Trailing | undefined;
}

/** Decoded bytes are a view that is valid until the next call of the decoder. */
export type Bzip2Item = Uint8Array | BlockLost | BlockRecovered | Bzip2End;
