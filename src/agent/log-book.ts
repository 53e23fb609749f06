import type { Clock } from '../base/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import type { LogEvent } from '../logs/index.ts';
import type { FamilyDescription, GapCertainty, Labels, RouterIdentity } from '../model/index.ts';
import type { LogGapSummary, RouterLogSummary } from '../web/index.ts';
import { FLEET_FAMILIES as F, toFamily } from './fleet-families.ts';
import type { RecordPlace } from './recent-records.ts';

interface Page {
  lines: number;
  bytes: number;
  unparsed: number;
  gaps: number;
  msToLoss: number | undefined;
  archives: number | undefined;
  /** Wall time, milliseconds since the Unix epoch. */
  newestMs: number | undefined;
  /** Monotonic. */
  caughtUpAtMs: number | undefined;
  position: { readonly file: string; readonly offset: number } | undefined;
}

const GAP_CERTAINTIES: readonly GapCertainty[] = ['certain', 'likely', 'possible'];

/** Gaps that are remembered, of all logs of a router. */
const GAPS_MAX = 10;

/** What became of each log of a router, and the series that say so. */
export class LogBook {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #clock: Clock;
  readonly #ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  readonly #pages = new Map<string, Page>();
  /** The newest first. */
  readonly #gaps: { readonly uid: string; readonly summary: LogGapSummary }[] = [];
  /** Values of rules that are gauges: by metric, then by labels. The rules themselves bound how many there are. */
  readonly #ruleValues = new Map<string, Map<string, readonly [Labels, number]>>();

  constructor(
    router: RouterIdentity,
    exposition: FleetExposition,
    clock: Clock,
    ruleFamilies: ReadonlyMap<string, FamilyDescription>,
  ) {
    this.#router = router;
    this.#ruleFamilies = ruleFamilies;
    this.#exposition = exposition;
    this.#clock = clock;
  }

  note(event: LogEvent): void {
    switch (event.type) {
      case 'logs-listed': {
        for (const [component, count] of event.archives) this.#page(component).archives = count;
        const samples = [...event.archives].map(([component, count]): [Labels, number] => [{ component }, count]);
        this.#exposition.publish(this.#router, 'log-archives', [toFamily(F.logArchives, samples)]);
        return;
      }
      case 'log-read': {
        const { component, lines, bytes, unparsed, newestUtcMs } = event;
        const page = this.#page(component);
        page.lines += this.#count(F.logLines, { component }, lines);
        page.bytes += this.#count(F.logBytes, { component }, bytes);
        page.unparsed += this.#count(F.logUnparsed, { component }, unparsed);
        if (newestUtcMs === undefined) return;
        page.newestMs = newestUtcMs;
        this.#exposition.publish(this.#router, `log:${component}`, [
          toFamily(F.logNewest, [[{ component }, newestUtcMs / 1000]]),
        ]);
        return;
      }
      case 'log-caught-up': {
        this.#page(event.component).caughtUpAtMs = this.#clock.monotonic();
        const samples = [...this.#pages].flatMap(([component, { caughtUpAtMs }]) =>
          caughtUpAtMs === undefined ? [] : [{ labels: { component }, sinceMs: caughtUpAtMs }],
        );
        this.#exposition.publishAges(this.#router, { ...F.logLag, samples });
        return;
      }
      case 'log-gap-found': {
        const { component, certainty, reason, bytesMin, uid, untilUtcMs } = event;
        const at = new Date(this.#clock.now()).toISOString();
        const until = renderTime(untilUtcMs);
        const summary = { at, component, certainty, reason, bytesMin: bytesMin ?? null, until };
        this.#gaps.unshift({ uid, summary });
        this.#gaps.splice(GAPS_MAX);
        this.#page(component).gaps += this.#count(F.logGaps, { component, certainty }, 1);
        this.#count(F.logGapBytes, { component, certainty }, bytesMin ?? 0);
        return;
      }
      case 'log-gap-ended': {
        const index = this.#gaps.findIndex(({ uid }) => uid === event.gapUid);
        const gap = this.#gaps[index];
        if (!gap) return;
        const summary = { ...gap.summary, until: renderTime(event.untilUtcMs) };
        this.#gaps.splice(index, 1, { ...gap, summary });
        return;
      }
      case 'log-repeat-found':
        this.#count(F.logRepeats, { component: event.component }, 1);
        return;
      case 'log-clock-jumped':
        this.#count(F.logClockJumps, { component: event.component }, 1);
        return;
      case 'log-reset':
        this.#count(F.logResets, { component: event.component }, 1);
        return;
      case 'log-retention': {
        const { component, msToLoss } = event;
        this.#page(component).msToLoss = msToLoss;
        const samples: [Labels, number][] = msToLoss === undefined ? [] : [[{ component }, msToLoss / 1000]];
        this.#exposition.publish(this.#router, `log-retention:${component}`, [toFamily(F.logSecondsToLoss, samples)]);
        return;
      }
      case 'log-rule-matched': {
        const { component, metric, labels, value } = event;
        this.#noteRule(metric, { component, ...labels }, value);
        return;
      }
      case 'log-zone-learnt':
      case 'log-zone-doubted':
      case 'log-links-judged':
      case 'archive-unfinished':
      case 'log-failed':
        return;
    }
  }

  /** Takes over where the last record begins that was stored. */
  notePlace({ component, file, offset }: RecordPlace): void {
    this.#page(component).position = { file, offset };
  }

  get gaps(): readonly LogGapSummary[] {
    return this.#gaps.map(({ summary }) => summary);
  }

  /** How long it is since all of what the router had was read, of the log that is furthest behind. Milliseconds. */
  get lagMs(): number | undefined {
    const nowMs = this.#clock.monotonic();
    let lagMs: number | undefined;
    for (const { caughtUpAtMs } of this.#pages.values()) {
      if (caughtUpAtMs !== undefined) lagMs = Math.max(lagMs ?? 0, nowMs - caughtUpAtMs);
    }
    return lagMs;
  }

  describe(): readonly RouterLogSummary[] {
    const nowMs = this.#clock.monotonic();
    return [...this.#pages].map(([component, page]) => ({
      component,
      lines: page.lines,
      bytes: page.bytes,
      unparsedLines: page.unparsed,
      gaps: page.gaps,
      archives: page.archives ?? null,
      newest: page.newestMs === undefined ? null : new Date(page.newestMs).toISOString(),
      lagSeconds: page.caughtUpAtMs === undefined ? null : (nowMs - page.caughtUpAtMs) / 1000,
      secondsToLoss: page.msToLoss === undefined ? null : page.msToLoss / 1000,
      position: page.position ?? null,
    }));
  }

  #noteRule(metric: string, labels: Labels, value: number): void {
    const family = this.#ruleFamilies.get(metric);
    if (family?.type === 'counter') this.#count(family, labels, value);
    if (family?.type !== 'gauge') return;
    const values = this.#ruleValues.get(metric) ?? new Map<string, readonly [Labels, number]>();
    this.#ruleValues.set(metric, values.set(JSON.stringify(labels), [labels, value]));
    this.#exposition.publish(this.#router, `log-rule:${metric}`, [toFamily(family, [...values.values()])]);
  }

  #page(component: string): Page {
    const known = this.#pages.get(component);
    if (known) return known;
    const page: Page = {
      lines: 0,
      bytes: 0,
      unparsed: 0,
      gaps: 0,
      msToLoss: undefined,
      archives: undefined,
      newestMs: undefined,
      caughtUpAtMs: undefined,
      position: undefined,
    };
    this.#pages.set(component, page);
    // From zero on, or else nobody who asks for the increase would see the first gap.
    for (const certainty of GAP_CERTAINTIES) this.#count(F.logGaps, { component, certainty }, 0);
    return page;
  }

  #count(family: FamilyDescription, labels: Labels, delta: number): number {
    this.#exposition.add(this.#router, family, labels, delta);
    return delta;
  }
}

function renderTime(utcMs: number | undefined): string | null {
  return utcMs === undefined ? null : new Date(utcMs).toISOString();
}
