import type { RouterTime } from '../contracts.ts';
import { countNulBytes, findHead } from '../file-head.ts';
import { parseLine } from '../lines/parse-line.ts';
import { type ListedLog, parseStampUtcMs, renderStamp } from '../names.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { StampContext } from '../time/stamp.ts';
import { Zone } from '../time/zone.ts';
import {
  addMatch,
  addMiss,
  addToPace,
  judgeLinks,
  type LinkFacts,
  type LinkVerdict,
  linkOffsetMs,
  type Pace,
  toOffsetMs,
} from './link-rule.ts';

/** Evidence of a router's UTC offset from one rotation. */
export interface OffsetEvidence {
  /** The moment in the name of the newest rotated file, in UTC. */
  readonly rotatedUtcMs: number;
  /** The first line with a stamp behind it, by the router's wall clock as if that were UTC. */
  readonly firstWallAsUtcMs: number;
  /** The difference, when it is one that a zone can have: wall time minus UTC. */
  readonly offsetMs: number | undefined;
  /** The mean distance of the lines behind it, if there are several. Milliseconds. */
  readonly distanceMs: number | undefined;
}

/** Lines whose distances are looked at. */
const LINES_MAX = 64;

/** The two times of one answer are made within moments; what is further from an offset of a zone is no offset. */
const TOLD_RESIDUE_MS_MAX = 2 * 60_000;

/** The UTC offset that a router tells with its local and its UTC time; `undefined` when no zone has it. */
export function findToldOffsetMs({ wallAsUtcMs, utcMs }: RouterTime): number | undefined {
  return toOffsetMs(wallAsUtcMs - utcMs, TOLD_RESIDUE_MS_MAX);
}

/** A Date header that is off the agent's clock by an offset that a zone has may be local time; further from one than this, it is a wrong clock. */
const DATE_RESIDUE_MS_MAX = 60_000;

/** True if a router's Date header proves nothing: it differs from the agent's clock as local time does from UTC. */
export function isDateLocal(dateMs: number, nowMs: number): boolean {
  return (toOffsetMs(dateMs - nowMs, DATE_RESIDUE_MS_MAX) ?? 0) !== 0;
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
  const found = findHead(bytes, countNulBytes(bytes), 'closed', createContext(rotatedUtcMs));
  const firstWallAsUtcMs = found?.firstWallAsUtcMs;
  if (firstWallAsUtcMs === undefined || Number.isNaN(rotatedUtcMs)) return undefined;
  const offsetMs = linkOffsetMs(firstWallAsUtcMs, stamp, new Zone(undefined));
  return { rotatedUtcMs, firstWallAsUtcMs, offsetMs, distanceMs: findDistanceMs(bytes, rotatedUtcMs) };
}

/** The context of lines that were written since the rotation, nobody knows until when. */
function createContext(lineBeforeMs: number): StampContext {
  return { order: 'dmy', lineBeforeMs, endMs: Number.POSITIVE_INFINITY };
}

function findDistanceMs(head: Buffer, rotatedUtcMs: number): number | undefined {
  let pace: Pace | undefined;
  let last: number | undefined;
  // The last one may be cut off in the middle of its stamp.
  for (const line of head.toString('latin1').split('\n', LINES_MAX).slice(0, -1)) {
    const { time } = parseLine(line, createContext(last ?? rotatedUtcMs));
    if (!time) continue;
    pace = addToPace(pace, last === undefined ? 0 : time.asUtcMs - last);
    last = time.asUtcMs;
  }
  return pace && pace.lines > 1 ? pace.recentMs : undefined;
}

/** Judges from the newest rotations of some logs how files follow each other. None of them was watched. */
export function judgeRotations(seen: ReadonlyMap<string, OffsetEvidence>): LinkVerdict {
  let facts: LinkFacts = {};
  for (const [component, { rotatedUtcMs, firstWallAsUtcMs, offsetMs, distanceMs }] of seen) {
    const stamp = renderStamp(rotatedUtcMs);
    if (offsetMs === undefined && firstWallAsUtcMs >= FLOOR_MS) facts = addMiss(facts, component, stamp);
    else if (offsetMs !== undefined && distanceMs !== undefined) facts = addMatch(facts, component, stamp, distanceMs);
  }
  return judgeLinks(facts);
}
