import { findHead } from './file-head.ts';
import type { ListedLog } from './names.ts';
import { parseStampUtcMs } from './names.ts';
import { linkOffsetMs } from './rotation-link.ts';
import { Zone } from './zone.ts';

/** What one rotation shows of a router's UTC offset. */
export interface OffsetEvidence {
  /** The moment in the name of the newest rotated file, in UTC. */
  readonly rotatedUtcMs: number;
  /** The first line with a stamp behind it, by the router's wall clock as if that were UTC. */
  readonly firstWallAsUtcMs: number;
  /** The difference, when it is one that a zone can have: wall time minus UTC. */
  readonly offsetMs: number | undefined;
}

/**
 * Holds the name of a log's newest rotated file, which is in UTC, against the first line of the file that is being
 * written, which is in the router's zone. `head` is the beginning of that file. `undefined` when nothing was rotated yet,
 * or no line of `head` has a stamp. One observation: the agent itself believes two.
 */
export function findOffsetEvidence({ rotated }: ListedLog, head: Uint8Array): OffsetEvidence | undefined {
  const stamp = rotated.at(-1)?.stamp;
  if (stamp === undefined) return undefined;
  const rotatedUtcMs = parseStampUtcMs(stamp);
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const found = findHead(bytes, true, { order: 'dmy', nearMs: rotatedUtcMs });
  const firstWallAsUtcMs = found?.firstWallAsUtcMs;
  if (firstWallAsUtcMs === undefined || Number.isNaN(rotatedUtcMs)) return undefined;
  return { rotatedUtcMs, firstWallAsUtcMs, offsetMs: linkOffsetMs(firstWallAsUtcMs, stamp, new Zone(undefined)) };
}
