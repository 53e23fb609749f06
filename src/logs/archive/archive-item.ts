import type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';

/** Bytes behind the end of an archive that belong to none. */
export interface Trailing {
  readonly bytes: number;
  readonly isText: boolean;
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
  /** Bytes behind the end of a compressed layer whose checksums are right. */
  readonly trailing: Trailing | undefined;
}

/** Formats of a log file, recognised by content. */
export type ArchiveFormat = 'bzip2' | 'gzip' | 'zstd' | 'text';

/** End of a file, damage in it, or the place from which it is readable again. */
export type ArchiveMarker = BlockLost | BlockRecovered | ArchiveEnd;

/** Decoded bytes in order, and what is to be known about them. */
export type ArchiveItem = Uint8Array | ArchiveMarker;
