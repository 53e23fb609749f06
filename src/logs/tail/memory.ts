import { crc32 } from 'node:zlib';
import type { ZoneEvidence } from '../evidence/learnt-zone.ts';
import type { LinkFacts, LinkVerdict } from '../evidence/link-rule.ts';
import { RuleSeries } from '../matching/rule-series.ts';
import { createSkewBounds, type SkewBounds } from '../time/log-clock.ts';

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

/** Looks at a log while a line stays on the router: room for a failed one, and for growth that speeds up. */
const LOOKS_PER_LIFETIME = 4;

/** What is worth knowing about a log from one run to the next, and is found out anew after a restart. */
export interface LogMemory {
  /** Entity tag of `current` as it was read last. */
  etag: string | undefined;
  /** When the log was last read to its end, by the agent's wall clock. */
  lookedAtMs: number | undefined;
  readonly skew: SkewBounds;
  readonly retention: Retention;
}

/** What is known of a log that was never read. */
export function createLogMemory(): LogMemory {
  return { etag: undefined, lookedAtMs: undefined, skew: createSkewBounds(), retention: new Retention() };
}

/** What is remembered of one router's logs between runs, in memory only. */
export class TailMemory {
  readonly #logs = new Map<string, LogMemory>();
  /** Series of the log rules; bounds them. */
  readonly ruleSeries = new RuleSeries();
  /** How files follow each other, as it was told last. */
  links: LinkVerdict | undefined;
  /** Whether the router did not answer when it was asked for its local time: nothing waits for that twice. */
  hasWaitedForTime = false;
  /** Whether new lines had another offset than the one in use: then the router is asked again. */
  isZoneDoubted = false;

  of(component: string): LogMemory {
    const known = this.#logs.get(component);
    if (known) return known;
    const created = createLogMemory();
    this.#logs.set(component, created);
    return created;
  }

  /**
   * How long to wait between two runs: a quarter of the time until the router deletes what is unread in the log that is in
   * the greatest danger, but not below `floorMs` and not above `ceilingMs`.
   */
  computeIntervalMs(bounds: { readonly floorMs: number; readonly ceilingMs: number }): number {
    const dangers = [...this.#logs.values()].flatMap(({ retention }) => retention.lifetimeMs ?? []);
    const wantedMs = Math.min(bounds.ceilingMs, ...dangers.map((lifetimeMs) => lifetimeMs / LOOKS_PER_LIFETIME));
    return Math.max(Math.min(bounds.floorMs, bounds.ceilingMs), Math.floor(wantedMs));
  }
}

/** The growth of a log between two looks, by the agent's clock. */
interface Growth {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bytes: number;
}

/** Growth further back than this says little about now. */
const WINDOW_MS = 60 * 60_000;
/** Looks within {@link WINDOW_MS} that are kept. */
const GROWTHS_MAX = 720;
/** Growth over less than this is a burst and no rate. */
const SPAN_MS_MIN = 10_000;
/** What a rotated file holds where none was read yet: the log daemon's usual limit. Bytes. */
const FILE_BYTES = 1024 * 1024;
/** Rotated files that are kept where none was listed yet: the log daemon's usual limit. */
const FILES = 5;

/** How fast a log grows, and how long a line therefore stays on the router. */
export class Retention {
  #growths: Growth[] = [];
  #lookedAtMs: number | undefined;
  #fileBytes: number | undefined;
  #filesMax: number | undefined;

  /** A rotated file was read whole. */
  noteFile(bytes: number): void {
    this.#fileBytes = this.#fileBytes === undefined ? bytes : Math.round((this.#fileBytes * 3 + bytes) / 4);
  }

  /** The router lists so many rotated files. */
  noteListed(files: number): void {
    if (files > 0) this.#filesMax = Math.max(this.#filesMax ?? 0, files);
  }

  /** The log was read to its end, and so many bytes were new that this program has not caused. */
  noteLook(nowMs: number, bytes: number): void {
    const fromMs = this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    // The first look says how much there is, not how fast it grows.
    if (fromMs === undefined || nowMs <= fromMs) return;
    this.#growths.push({ fromMs, toMs: nowMs, bytes });
    this.#growths = this.#growths.filter(({ toMs }) => nowMs - toMs < WINDOW_MS).slice(-GROWTHS_MAX);
  }

  /** How long a line stays on the router from its writing to its deletion, at the present growth. Milliseconds. */
  get lifetimeMs(): number | undefined {
    const first = this.#growths[0];
    const last = this.#growths.at(-1);
    if (!first || !last || last.toMs - first.fromMs < SPAN_MS_MIN) return undefined;
    const bytes = this.#growths.reduce((sum, growth) => sum + growth.bytes, 0);
    if (bytes === 0) return undefined;
    const kept = ((this.#filesMax ?? FILES) + 1) * (this.#fileBytes ?? FILE_BYTES);
    return (kept / bytes) * (last.toMs - first.fromMs);
  }

  /** How long it takes until the router deletes what was written since the last look. Milliseconds. */
  msToLoss(nowMs: number): number | undefined {
    const { lifetimeMs } = this;
    if (lifetimeMs === undefined || this.#lookedAtMs === undefined) return undefined;
    return Math.max(0, lifetimeMs - (nowMs - this.#lookedAtMs));
  }
}
