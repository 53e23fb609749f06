import type { ArchiveErrorCode } from './archive-error.ts';

/** Bounds of one decoding. */
export interface ArchiveLimits {
  /** Most decoded bytes; the first byte beyond fails with `too-large`. */
  readonly outputBytesMax: number;
  /**
   * Most decoded bytes per compressed byte, above a first 1 MiB that is always allowed because honest logs of one
   * repeated line compress very well. Holds for each compressed layer. Default: unlimited.
   */
  readonly ratioMax?: number | undefined;
  /**
   * Go on behind a damaged bzip2 block at the next one that can be found, instead of failing with `corrupt`. Costs
   * 3 MB of memory and no time as long as nothing is damaged. Default: false.
   */
  readonly resync?: boolean | undefined;
}

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
  readonly code: ArchiveErrorCode;
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

/** The archive was read to its end; always the last item. */
export interface ArchiveEnd {
  readonly kind: 'end';
  /** The layers, outermost first; `['text']` when nothing was compressed. */
  readonly formats: readonly ArchiveFormat[];
  /** Bytes taken from the source. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** bzip2 blocks decoded and verified. */
  readonly blocks: number;
  readonly blocksLost: number;
  /** Zero bytes behind the last bzip2 stream: harmless, some writers pad. */
  readonly paddingBytes: number;
}

export type ArchiveFormat = 'bzip2' | 'gzip' | 'zstd' | 'text';

export type ArchiveMarker = BlockLost | BlockRecovered | ArchiveEnd;

/** Decoded bytes in order, and what is to be known about them. */
export type ArchiveItem = Uint8Array | ArchiveMarker;
