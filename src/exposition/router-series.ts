import type { FamilyDescription, Labels } from '../model/index.ts';
import { type RouterLabels, renderValue } from './text.ts';

/**
 * Limit of the series of one router, and of the series of one of its counters: ten times what a fully equipped device
 * has.
 */
export const SERIES_PER_ROUTER_MAX = 2000;

/** A sample whose value is read at each scrape. */
export interface LiveSample {
  readonly labels: Labels;
}

/** All series of one router in one family, if they are more than the text of one part. */
interface FamilySeries {
  /** Text that its parts have published in this family. */
  text: ReadyText | undefined;
  live: LiveSeries | undefined;
  counters: Counters | undefined;
}

/** Counters of one router in one family. Few: a search through them takes less memory than a map. */
interface Counters {
  /** Labels of each that are its own. */
  owns: readonly string[];
  values: number[];
}

/** Rendered lines of one family in one part of one router, and those of its other parts, which are rare. */
interface ReadyText {
  readonly part: Part;
  lines: string;
  next: ReadyText | undefined;
}

/** Samples of one family whose values are read at each scrape. */
export interface LiveSeries<T extends LiveSample = LiveSample> {
  readonly samples: readonly T[];
  /** Labels of each sample that are its own. */
  readonly own: readonly string[];
  /** Returns the value of a sample; `undefined`: it is left out. A method, so that each family has its own type of samples. */
  readValue(sample: T, nowMs: number): number | undefined;
}

export interface RouterSeries {
  readonly labels: RouterLabels;
  /** By the index of the family. A fleet has half a million of these: nearly all are the text of one part. */
  readonly families: (string | FamilySeries | undefined)[];
  /** By the index of the family: the part whose text is there. */
  readonly owners: (Part | undefined)[];
  freshUntilMs: number;
  readonly parts: Map<string, Part>;
  /** Sums over all parts. */
  count: number;
  dropped: number;
  /** Value of {@link SERIES_DROPPED}; `undefined` while it is not shown. */
  shownDropped: number | undefined;
}

/** Extent of one part of a router. */
export interface Part {
  /** Number of its series. */
  count: number;
  /** Number of series that were left out. */
  dropped: number;
  /** On the monotonic clock. */
  expiresAtMs: number;
}

/** Adds `delta` to the counter with these labels of its own, or to the one that all share if there are too many. */
export function addToCounter(counters: Counters, own: string, delta: number): void {
  const { owns, values } = counters;
  const known = owns.indexOf(own);
  // Names of logs come from the router.
  const isTooMany = known < 0 && owns.length >= SERIES_PER_ROUTER_MAX;
  const index = isTooMany ? owns.indexOf('') : known;
  if (index >= 0) {
    values[index] = (values[index] ?? 0) + delta;
    return;
  }
  // Neither pushed nor spread: both make room for sixteen more, and most families of a router have one or two.
  counters.owns = owns.concat(isTooMany ? '' : own);
  counters.values = values.concat(delta);
}

/** Forgets the counters whose own labels are meant. */
export function forgetCounters(counters: Counters, isMeant: (own: string) => boolean): void {
  const { owns, values } = counters;
  const isKept = owns.map((own) => !isMeant(own));
  counters.owns = owns.filter((_own, index) => isKept[index]);
  counters.values = values.filter((_value, index) => isKept[index]);
}

/** Returns what a router has in a family, with room for more than one text. */
export function openFamily(router: RouterSeries, index: number): FamilySeries {
  const known = router.families[index];
  if (typeof known === 'object') return known;
  const part = router.owners[index];
  const text = known !== undefined && part ? { part, lines: known, next: undefined } : undefined;
  const series: FamilySeries = { text, live: undefined, counters: undefined };
  router.families[index] = series;
  if (part) router.owners[index] = undefined;
  return series;
}

/** Replaces the text of a part in one family, behind those of others; an empty one takes it out. */
export function writeText(router: RouterSeries, index: number, part: Part, lines: string): void {
  const known = router.families[index];
  const isOwn = router.owners[index] === part;
  // Nothing of this part is there.
  if (lines === '' && typeof known !== 'object' && !isOwn) return;
  if (known === undefined || isOwn) {
    router.families[index] = lines === '' ? undefined : lines;
    router.owners[index] = lines === '' ? undefined : part;
    return;
  }
  const series = openFamily(router, index);
  let before: ReadyText | undefined;
  let text = series.text;
  while (text && text.part !== part) {
    before = text;
    text = text.next;
  }
  if (text && lines !== '') {
    text.lines = lines;
    return;
  }
  const next = text ? text.next : lines === '' ? undefined : { part, lines, next: undefined };
  if (before) before.next = next;
  else series.text = next;
}

/** Returns the text of a part in one family; empty if it has none. */
export function readText(router: RouterSeries, index: number, part: Part): string {
  const known = router.families[index];
  if (typeof known === 'string') return router.owners[index] === part ? known : '';
  let text = known?.text;
  while (text && text.part !== part) text = text.next;
  return text?.lines ?? '';
}

/** Takes the texts of a part out of all families but some. */
export function removeTexts(router: RouterSeries, part: Part, kept: ReadonlySet<number> = new Set()): void {
  for (const index of router.families.keys()) if (!kept.has(index)) writeText(router, index, part, '');
}

/** Lists the texts in one family, without that of one part. */
export function listTexts(router: RouterSeries, index: number, without: Part | undefined): readonly string[] {
  const known = router.families[index];
  if (typeof known === 'string') return router.owners[index] === without ? [] : [known];
  const texts: string[] = [];
  for (let text = known?.text; text; text = text.next) if (text.part !== without) texts.push(text.lines);
  return texts;
}

/** Lists the series of a text. */
export function listSeries(lines: string): readonly string[] {
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(0, line.lastIndexOf(' '))]));
}

function isServed({ expiresAtMs }: Part, { freshUntilMs }: RouterSeries, nowMs: number): boolean {
  return expiresAtMs === Infinity || (nowMs < expiresAtMs && nowMs < freshUntilMs);
}

/** Renders what a router serves in the family of this index. */
export function renderFamilySeries(
  router: RouterSeries,
  index: number,
  { name, isLasting = false }: FamilyDescription,
  nowMs: number,
): string {
  const series = router.families[index];
  if (series === undefined) return '';
  if (typeof series === 'string') {
    const owner = router.owners[index];
    return owner && (isLasting || isServed(owner, router, nowMs)) ? series : '';
  }
  const { labels } = router;
  const { live, counters } = series;
  let lines = '';
  for (let { text } = series; text; text = text.next) {
    if (isLasting || isServed(text.part, router, nowMs)) lines += text.lines;
  }
  if (live) {
    for (const [place, sample] of live.samples.entries()) {
      const own = live.own[place] ?? '';
      const value = live.readValue(sample, nowMs);
      if (value !== undefined) lines += `${labels.joinSeries(name, own)} ${renderValue(value)}\n`;
    }
  }
  if (counters) {
    for (const [place, own] of counters.owns.entries()) {
      lines += `${labels.joinSeries(name, own)} ${renderValue(counters.values[place] ?? 0)}\n`;
    }
  }
  return lines;
}
