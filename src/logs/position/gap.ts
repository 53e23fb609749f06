import type { GapCertainty } from '../../model/index.ts';
import { renderEventUid } from './identity.ts';

/** Reasons of gaps, with the text of their records. */
export const GAP_REASONS = {
  expired: 'the router deleted a file before it was read to its end',
  'not-found': 'the rest of a file was not found under another name',
  damaged: 'a rotated file could not be decompressed to its end',
  'too-large': 'a file is larger than the limit',
  unsupported: 'a rotated file has a format that cannot be read',
  binary: 'part of a file is neither text nor a known format',
  trailing: 'text follows the end of a compressed file',
  'broken-link': 'a file between two others is missing, or the clock of the router was set',
  reset: 'the router deleted all of its log files',
  paused: 'the router may have deleted them while it was paused',
  skipped: 'they are older than logs.start',
};
type GapReason = keyof typeof GAP_REASONS;

/** A line at the edge of a gap. */
export interface GapEdge {
  readonly uid: string;
  readonly utcMs?: number | undefined;
}

/**
 * Order of lines relative to those already read: `live`, after all; `backfill`, history read after new lines; `late`,
 * before some.
 */
export type Track = 'live' | 'backfill' | 'late';

/** Missing lines of a log, with the evidence. */
export interface Gap {
  readonly certainty: GapCertainty;
  readonly reason: GapReason;
  /** The last line before the gap; absent at the beginning of a log. */
  readonly from?: GapEdge | undefined;
  /** The first line after the gap; absent until it is read, `null` if it was read and is not known. */
  readonly to?: GapEdge | null | undefined;
  readonly bytesMin?: number | undefined;
  readonly lines?: number | undefined;
  /** The damaged part of an archive, in bits of the compressed file. */
  readonly damage?: { readonly block: number; readonly startBit: number; readonly endBit: number } | undefined;
  readonly file: string;
  readonly offset: number;
  /** Default: `live`. */
  readonly track?: Track | undefined;
}

/** A gap that was reported without its end. */
export interface OpenGap {
  readonly uid: string;
  readonly file: string;
  readonly offset: number;
  readonly track?: Track | undefined;
}

export function isGapReason(value: unknown): value is GapReason {
  return typeof value === 'string' && Object.hasOwn(GAP_REASONS, value);
}

/** Returns the uid of a gap record. It does not depend on the end of the gap. */
export function toGapUid(router: string, component: string, gap: Gap): string {
  return renderEventUid('log.gap', router, component, toGapSubject(gap), gap.offset);
}

function toGapSubject({ reason, file, from, damage, offset }: Gap): string {
  // Each part that is skipped on its own is one gap.
  const part = reason === 'skipped' && offset > 0 ? `\0${offset}` : '';
  return `${reason}\0${file}\0${from?.uid ?? ''}\0${damage?.startBit ?? ''}${part}`;
}

/** A damaged part of an archive, whose text is missing. */
export interface BlockLost {
  readonly kind: 'block-lost';
  /** Number in the archive, from 0. A damaged part counts as one block. */
  readonly block: number;
  /** First bit of the part in the compressed file. */
  readonly startBit: number;
  /** Bit after the part: the start of the next block found, or the end of the archive. */
  readonly endBit: number;
  /** Decompressed bytes before it. */
  readonly outputOffset: number;
}

/** The next bytes come from an intact block after a damaged one. */
export interface BlockRecovered {
  readonly kind: 'block-recovered';
  readonly block: number;
  /** Decompressed bytes before it. */
  readonly outputOffset: number;
}

/** Returns the gap of a damaged part. `from`: the last line before it. */
export function toDamageGap(
  { block, startBit, endBit, outputOffset }: BlockLost,
  file: string,
  from: GapEdge | undefined,
): Gap {
  return {
    certainty: 'certain',
    reason: 'damaged',
    from,
    file,
    offset: outputOffset,
    damage: { block, startBit, endBit },
  };
}
