import { z } from 'zod';
import { parseJson } from '../base/index.ts';

/** Routers that a new answer of a source lacks. */
export interface Missing {
  readonly missing: number;
  /** Number of routers that the source has now, or the largest one of the last day. */
  readonly of: number;
}

/**
 * Returns what is missing in an answer if it is more than a source may remove at once, or within a day: more than the share
 * `removalMax` of its routers (but one router always may go), or all of them. `largest` is the largest number of routers that
 * it had within a day. `undefined` if the answer may be used.
 */
export function findMissing(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  removalMax: number,
  largest = 0,
): Missing | undefined {
  let missing = 0;
  for (const name of before) if (!after.has(name)) missing++;
  if (missing === 0 || removalMax >= 1) return undefined;
  const isTooMuch = (gone: number, of: number) => gone > Math.max(1, of * removalMax);
  const isAllGone = after.size === 0;
  if (isAllGone || isTooMuch(missing, before.size)) return { missing, of: before.size };
  // Many small removals, each of which would pass, are a large one.
  const gone = largest - after.size;
  return isTooMuch(gone, largest) ? { missing: gone, of: largest } : undefined;
}

/** A number of routers that a source had, until a time. */
export interface FormerCount {
  readonly routers: number;
  /** Time at which there began to be another number. Milliseconds. */
  readonly untilMs: number;
}

/** The answer in use, as it is kept over restarts. */
interface StoredAnswer {
  /** The list. */
  readonly text: string;
  /** Origin of the list, so that it is found again when its source is renamed. */
  readonly origin: string;
  /** Numbers of routers of the last day, the largest first. */
  readonly counts: readonly FormerCount[];
}

/** Changes of a day that are told apart. */
const COUNTS_MAX = 50;
const DAY_MS = 86_400_000;

const headSchema = z.object({
  origin: z.string(),
  counts: z.array(z.object({ routers: z.number(), untilMs: z.number() })).max(COUNTS_MAX),
});

/** Renders an answer for its file: a line about it, then the list as it is. */
export function renderStored({ text, origin, counts }: StoredAnswer): string {
  return `${JSON.stringify({ origin, counts })}\n${text}`;
}

/** Parses the content of a file; `undefined` if {@link renderStored} has not written it. */
export function parseStored(content: string): StoredAnswer | undefined {
  const end = content.indexOf('\n');
  const head = headSchema.safeParse(parseJson(content.slice(0, Math.max(0, end))));
  return head.success ? { ...head.data, text: content.slice(end + 1) } : undefined;
}

/** Adds the number of routers that a source had until now, and drops what is older than a day or smaller than later ones. */
export function addCount(counts: readonly FormerCount[], routers: number, nowMs: number): readonly FormerCount[] {
  const larger = counts.filter((one) => one.routers > routers && one.untilMs > nowMs - DAY_MS);
  const all = [...larger, { routers, untilMs: nowMs }];
  if (all.length <= COUNTS_MAX) return all;
  // Of two neighbours, the larger number until the later time.
  const [first = { routers, untilMs: nowMs }, second = first, ...rest] = all;
  return [{ routers: first.routers, untilMs: second.untilMs }, ...rest];
}

/** Returns the largest number of routers of the last day. */
export function findLargest(counts: readonly FormerCount[], nowMs: number): number {
  return counts.find(({ untilMs }) => untilMs > nowMs - DAY_MS)?.routers ?? 0;
}
