import type { FamilyDescription, Labels } from '../model/index.ts';
import { type RouterLabels, renderValue } from './text.ts';

/** Series of one router, and series of one of its counters: ten times what a fully equipped device has. */
export const SERIES_PER_ROUTER_MAX = 2000;

/** Series of one router in one family, if they are more than the text of one part. */
interface FamilySeries {
  text: ReadyText | undefined;
  live: LiveSeries | undefined;
  counters: Counters | undefined;
}

/** Arrays: few entries, and searching them takes less memory than a map. */
interface Counters {
  owns: readonly string[];
  values: number[];
}

/** Rendered lines of one part in one family; `next` is that of another part, which is rare. */
interface ReadyText {
  readonly part: Part;
  lines: string;
  next: ReadyText | undefined;
}

interface LiveSeries<T extends { readonly labels: Labels } = { readonly labels: Labels }> {
  readonly samples: readonly T[];
  readonly own: readonly string[];
  /** `undefined` omits the sample. A method, so that each family has its own type of samples. */
  readValue(sample: T, nowMs: number): number | undefined;
}

interface Part {
  count: number;
  dropped: number;
  /** Monotonic milliseconds. */
  expiresAtMs: number;
}

const NONE: readonly string[] = [];

/** The series of one router. */
export class RouterSeries {
  readonly labels: RouterLabels;
  freshUntilMs = Infinity;
  readonly parts = new Map<string, Part>();
  count = 0;
  dropped = 0;
  /** Published value of `router_series_dropped`; `undefined` if none. */
  shownDropped: number | undefined;
  /** By family index. A fleet has half a million of these: nearly all are the text of one part. */
  readonly #families: (string | FamilySeries | undefined)[] = [];
  readonly #owners: (Part | undefined)[] = [];

  constructor(labels: RouterLabels) {
    this.labels = labels;
  }

  /** Replaces a family whose values are read at each scrape. */
  setLive<T extends { readonly labels: Labels }>(index: number, live: LiveSeries<T>): void {
    this.#open(index).live = live.samples.length === 0 ? undefined : live;
  }

  /** Adds `delta` to a counter; above the limit, to one counter without sample labels that takes all others. */
  addToCounter(index: number, own: string, delta: number): void {
    const family = this.#open(index);
    family.counters ??= { owns: [], values: [] };
    const { owns, values } = family.counters;
    const known = owns.indexOf(own);
    // A router may invent log names without end.
    const isTooMany = known < 0 && owns.length >= SERIES_PER_ROUTER_MAX;
    const place = isTooMany ? owns.indexOf('') : known;
    if (place >= 0) {
      values[place] = (values[place] ?? 0) + delta;
      return;
    }
    // Not with `push` or a spread: both reserve memory for sixteen more, and most families of a router have one or two.
    family.counters = { owns: owns.concat(isTooMany ? '' : own), values: values.concat(delta) };
  }

  forgetCounters(isMeant: (own: string) => boolean): void {
    for (const family of this.#families) {
      if (typeof family !== 'object' || !family.counters) continue;
      const { owns, values } = family.counters;
      const isKept = owns.map((own) => !isMeant(own));
      family.counters = {
        owns: owns.filter((_own, place) => isKept[place]),
        values: values.filter((_value, place) => isKept[place]),
      };
    }
  }

  forgetValues(): void {
    for (const part of this.parts.values()) this.removeTexts(part);
    this.parts.clear();
    this.count = 0;
    this.dropped = 0;
    this.shownDropped = undefined;
    for (const family of this.#families) if (typeof family === 'object') family.live = undefined;
  }

  /** Replaces the text of a part in one family; an empty text removes it. */
  writeText(index: number, part: Part, lines: string): void {
    const known = this.#families[index];
    const isOwn = this.#owners[index] === part;
    if (lines === '' && typeof known !== 'object' && !isOwn) return;
    if (known === undefined || isOwn) {
      this.#families[index] = lines === '' ? undefined : lines;
      this.#owners[index] = lines === '' ? undefined : part;
      return;
    }
    const family = this.#open(index);
    let before: ReadyText | undefined;
    let text = family.text;
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
    else family.text = next;
  }

  readText(index: number, part: Part): string {
    return this.#listTexts(index).find((text) => text.part === part)?.lines ?? '';
  }

  /** Removes the texts of a part from all families except `kept`. */
  removeTexts(part: Part, kept: ReadonlySet<number> = new Set()): void {
    for (const index of this.#families.keys()) if (!kept.has(index)) this.writeText(index, part, '');
  }

  listSeries(index: number, without: Part | undefined): readonly string[] {
    if (typeof this.#families[index] !== 'object' && this.#owners[index] === without) return NONE;
    return this.#listTexts(index).flatMap(({ part, lines }) =>
      part === without
        ? []
        : lines.split('\n').flatMap((line) => (line === '' ? [] : [line.slice(0, line.lastIndexOf(' '))])),
    );
  }

  render(index: number, { name, isLasting = false }: FamilyDescription, nowMs: number): string {
    const family = this.#families[index];
    if (family === undefined) return '';
    if (typeof family === 'string') {
      const owner = this.#owners[index];
      return owner && (isLasting || this.#isServed(owner, nowMs)) ? family : '';
    }
    const { labels } = this;
    const { live, counters } = family;
    let lines = '';
    for (let { text } = family; text; text = text.next) {
      if (isLasting || this.#isServed(text.part, nowMs)) lines += text.lines;
    }
    if (live) {
      for (const [place, sample] of live.samples.entries()) {
        const value = live.readValue(sample, nowMs);
        if (value !== undefined) lines += `${labels.joinSeries(name, live.own[place] ?? '')} ${renderValue(value)}\n`;
      }
    }
    if (counters) {
      for (const [place, own] of counters.owns.entries()) {
        lines += `${labels.joinSeries(name, own)} ${renderValue(counters.values[place] ?? 0)}\n`;
      }
    }
    return lines;
  }

  #isServed({ expiresAtMs }: Part, nowMs: number): boolean {
    return expiresAtMs === Infinity || (nowMs < expiresAtMs && nowMs < this.freshUntilMs);
  }

  #open(index: number): FamilySeries {
    const known = this.#families[index];
    if (typeof known === 'object') return known;
    const part = this.#owners[index];
    const text = known !== undefined && part ? { part, lines: known, next: undefined } : undefined;
    const family: FamilySeries = { text, live: undefined, counters: undefined };
    this.#families[index] = family;
    if (part) this.#owners[index] = undefined;
    return family;
  }

  #listTexts(index: number): readonly Pick<ReadyText, 'part' | 'lines'>[] {
    const family = this.#families[index];
    const part = this.#owners[index];
    if (typeof family === 'string') return part ? [{ part, lines: family }] : [];
    const texts: ReadyText[] = [];
    for (let text = family?.text; text; text = text.next) texts.push(text);
    return texts;
  }
}
