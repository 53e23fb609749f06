import type { GapCertainty } from '../../model/index.ts';
import { type GapReason, isGapReason } from '../event-records.ts';
import { type Guard, isCount, isMoment, isText, oneOf, optional, shape } from '../position/guards.ts';

/** A gap that was told, as it is remembered for the pages. */
export interface KnownGap {
  /** That of its record. */
  readonly uid: string;
  /** Name of the log. */
  readonly component: string;
  /** When it was found, by the agent's clock. Milliseconds since the Unix epoch. */
  readonly foundMs: number;
  readonly certainty: GapCertainty;
  readonly reason: GapReason;
  /** Bytes that are missing at least, as far as that is known. */
  readonly bytesMin: number | undefined;
  /** Time of the first line behind it, as far as that is known. Milliseconds since the Unix epoch. */
  readonly untilUtcMs: number | undefined;
}

/** Number of gaps remembered for all logs of a router: they are stored with its facts, which are written as a whole. */
const KNOWN_GAPS_MAX = 10;

const isKnownGap: Guard<KnownGap> = shape<KnownGap>({
  uid: isText,
  component: isText,
  // Another number would end the rendering of a page.
  foundMs: isMoment,
  certainty: oneOf(['certain', 'likely', 'possible']),
  reason: isGapReason,
  bytesMin: optional(isCount),
  untilUtcMs: optional(isMoment),
});

/**
 * Returns the gaps with one more, the newest first; the oldest gives way. One that is known is not there twice: a step that could
 * not be stored is taken again.
 */
export function noteGap(gaps: readonly KnownGap[], gap: KnownGap): readonly KnownGap[] {
  return [gap, ...gaps.filter(({ uid }) => uid !== gap.uid)].slice(0, KNOWN_GAPS_MAX);
}

/** Returns the gaps with the time of the first line behind one of them, if it is still remembered. */
export function noteGapEnd(
  gaps: readonly KnownGap[],
  { gapUid, untilUtcMs }: { readonly gapUid: string; readonly untilUtcMs: number | undefined },
): readonly KnownGap[] {
  const index = gaps.findIndex(({ uid }) => uid === gapUid);
  const gap = gaps[index];
  return gap ? gaps.with(index, { ...gap, untilUtcMs }) : gaps;
}

/** Reads back gaps that were stored; leaves out what this version cannot read. */
export function toKnownGaps(stored: unknown): readonly KnownGap[] {
  return Array.isArray(stored) ? stored.slice(0, KNOWN_GAPS_MAX).flatMap(toKnownGap) : [];
}

function toKnownGap(stored: unknown): KnownGap[] {
  if (!isKnownGap(stored)) return [];
  const { uid, component, foundMs, certainty, reason, bytesMin, untilUtcMs } = stored;
  return [{ uid, component, foundMs, certainty, reason, bytesMin, untilUtcMs }];
}
