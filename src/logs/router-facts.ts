import { crc32 } from 'node:zlib';
import type { ZoneEvidence } from './learnt-zone.ts';
import type { LinkFacts } from './link-rule.ts';

/** What was learnt of a router as a whole; kept beside the positions of its logs. */
export interface RouterFacts {
  readonly version: 1;
  /** Wall time at which its logs were first listed. */
  readonly firstContactMs: number;
  /** Serial number, as far as it was told. */
  serial: string | undefined;
  /** The firmware that `range` is about. */
  firmware: string | undefined;
  /** Whether log downloads can be asked for in part; `undefined` until it was tried. */
  range: boolean | undefined;
  zone: ZoneEvidence;
  /** What rotations have shown of how files follow each other. */
  links: LinkFacts;
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
  const value = JSON.parse(text.slice(0, end)) as RouterFacts;
  return value.version === 1 ? { ...createRouterFacts(value.firstContactMs), ...value } : undefined;
}
