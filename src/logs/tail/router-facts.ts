import { crc32 } from 'node:zlib';
import { parseJson } from '../../base/index.ts';
import type { ZoneEvidence } from '../evidence/learnt-zone.ts';
import type { LinkFacts } from '../evidence/link-rule.ts';
import { type KnownGap, toKnownGaps } from './known-gaps.ts';

/** Facts about a router as a whole; stored beside the positions of its logs. */
export interface RouterFacts {
  readonly version: 1;
  /** Wall time at which its logs were first listed. */
  readonly firstContactMs: number;
  /** Serial number, as far as it was told. */
  serial: string | undefined;
  /** The firmware that `range` is about. */
  firmware: string | undefined;
  /** True if the router serves parts of files; `undefined` until it was tried. */
  range: boolean | undefined;
  zone: ZoneEvidence;
  /** Evidence from rotations of how files follow each other. */
  links: LinkFacts;
  /** The last gaps of all logs, for the pages: also of the replica that has the router next. The newest first; `undefined`: none. */
  gaps: readonly KnownGap[] | undefined;
}

/** The facts about a router that was never met. */
export function createRouterFacts(nowMs: number): RouterFacts {
  return {
    version: 1,
    firstContactMs: nowMs,
    serial: undefined,
    firmware: undefined,
    range: undefined,
    zone: { seen: [], inferred: [] },
    links: {},
    gaps: undefined,
  };
}

/**
 * Notes the serial number, if it is told. True when another device than before answers: what was learnt of the one before
 * is forgotten then.
 */
export function noteSerial(facts: RouterFacts, serial: string | undefined): boolean {
  if (serial === undefined || facts.serial === serial) return false;
  const isReplaced = facts.serial !== undefined;
  facts.serial = serial;
  if (!isReplaced) return false;
  const { range, zone, links } = createRouterFacts(facts.firstContactMs);
  Object.assign(facts, { range, zone, links });
  return true;
}

export function renderRouterFacts(facts: RouterFacts): string {
  const text = JSON.stringify(facts);
  return `${text}\n${crc32(text).toString(16)}`;
}

/** Reads back what {@link renderRouterFacts} wrote; `undefined` for anything else: then they are learnt anew. */
export function parseRouterFacts(text: string): RouterFacts | undefined {
  const end = text.lastIndexOf('\n');
  if (end < 0 || crc32(text.slice(0, end)).toString(16) !== text.slice(end + 1)) return undefined;
  // The checksum says that nothing was damaged, not who wrote it.
  const value = parseJson(text.slice(0, end)) as RouterFacts | null | undefined;
  if (value?.version !== 1) return undefined;
  const gaps = toKnownGaps(value.gaps);
  return { ...value, gaps: gaps.length === 0 ? undefined : gaps };
}

/** Returns the last gaps that stored facts tell of, the newest first; none if the facts cannot be read. */
export function readKnownGaps(facts: string | undefined): readonly KnownGap[] {
  return (facts === undefined ? undefined : parseRouterFacts(facts))?.gaps ?? [];
}
