import type { Clock } from '../../base/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { LinkVerdict, LogEvent } from '../../logs/index.ts';
import type { FamilyDescription, GapCertainty, Labels, RouterIdentity } from '../../model/index.ts';
import type { LogGapSummary, RouterLogSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F, toFamily } from '../metrics/fleet-families.ts';
import type { RecordOrigin } from './recent-records.ts';

interface Log {
  /** Labels of all series about the log. */
  readonly labels: Labels;
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

type EventOf<T extends LogEvent['type']> = Extract<LogEvent, { readonly type: T }>;

const GAP_CERTAINTIES: readonly GapCertainty[] = ['certain', 'likely', 'possible'];

/** Gaps that are remembered, of all logs of a router. */
const GAPS_MAX = 10;

/** State and counters of each log of a router, and their series. */
export class LogStats {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #clock: Clock;
  readonly #ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  readonly #logs = new Map<string, Log>();
  /** The newest first. */
  readonly #gaps: { readonly uid: string; readonly summary: LogGapSummary }[] = [];
  #links: LinkVerdict | undefined;
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

  /** Records the number of rotated files that the router lists. */
  recordListing({ archives }: EventOf<'logs-listed'>): void {
    for (const [component, count] of archives) this.#logOf(component).archives = count;
    const samples = [...archives].map(([component, count]): [Labels, number] => [{ component }, count]);
    this.#exposition.publish(this.#router, 'log-archives', [toFamily(F.logArchives, samples)]);
  }

  recordRead({ component, lines, bytes, unparsed, newestUtcMs }: EventOf<'log-read'>): void {
    const log = this.#logOf(component);
    log.lines += lines;
    log.bytes += bytes;
    log.unparsed += unparsed;
    if (newestUtcMs === undefined) return;
    log.newestMs = newestUtcMs;
    this.#exposition.publish(this.#router, `log:${component}`, [
      toFamily(F.logNewest, [[{ component }, newestUtcMs / 1000]]),
    ]);
  }

  recordCaughtUp({ component }: EventOf<'log-caught-up'>): void {
    this.#logOf(component).caughtUpAtMs = this.#clock.monotonic();
    const samples = [...this.#logs.values()].flatMap(({ labels, caughtUpAtMs }) =>
      caughtUpAtMs === undefined ? [] : [{ labels, sinceMs: caughtUpAtMs }],
    );
    this.#exposition.publishAges(this.#router, { ...F.logLag, samples });
  }

  recordGap({ component, certainty, reason, bytesMin, uid, untilUtcMs }: EventOf<'log-gap-found'>): void {
    const at = new Date(this.#clock.now()).toISOString();
    const until = renderTime(untilUtcMs);
    this.#gaps.unshift({ uid, summary: { at, component, certainty, reason, bytesMin: bytesMin ?? null, until } });
    this.#gaps.splice(GAPS_MAX);
    this.#logOf(component).gaps++;
  }

  recordGapEnd({ gapUid, untilUtcMs }: EventOf<'log-gap-ended'>): void {
    const index = this.#gaps.findIndex(({ uid }) => uid === gapUid);
    const gap = this.#gaps[index];
    if (!gap) return;
    const summary = { ...gap.summary, until: renderTime(untilUtcMs) };
    this.#gaps.splice(index, 1, { ...gap, summary });
  }

  recordRetention({ component, msToLoss }: EventOf<'log-retention'>): void {
    this.#logOf(component).msToLoss = msToLoss;
    const samples: [Labels, number][] = msToLoss === undefined ? [] : [[{ component }, msToLoss / 1000]];
    this.#exposition.publish(this.#router, `log-retention:${component}`, [toFamily(F.logSecondsToLoss, samples)]);
  }

  /** Adds a rule's match to its counter, or sets its gauge. */
  recordRuleMatch({ component, metric, labels: own, value }: EventOf<'log-rule-matched'>): void {
    const family = this.#ruleFamilies.get(metric);
    const labels = { component, ...own };
    if (family?.type === 'counter') this.#exposition.add(this.#router, family, labels, value);
    if (family?.type !== 'gauge') return;
    const values = this.#ruleValues.get(metric) ?? new Map<string, readonly [Labels, number]>();
    this.#ruleValues.set(metric, values.set(JSON.stringify(labels), [labels, value]));
    this.#exposition.publish(this.#router, `log-rule:${metric}`, [toFamily(family, [...values.values()])]);
  }

  /** Records the origin of the last stored record. */
  recordOrigin({ component, file, offset }: RecordOrigin): void {
    this.#logOf(component).position = { file, offset };
  }

  /** Records the verdict on how the router's log files link. */
  recordLinks(verdict: LinkVerdict): void {
    this.#links = verdict;
  }

  /** Verdict on whether each log file begins where the previous one ends; `undefined` before the first. */
  get links(): LinkVerdict | undefined {
    return this.#links;
  }

  get gaps(): readonly LogGapSummary[] {
    return this.#gaps.map(({ summary }) => summary);
  }

  /** Time since the log that is furthest behind was read to its end. Milliseconds. */
  get lagMs(): number | undefined {
    const nowMs = this.#clock.monotonic();
    let lagMs: number | undefined;
    for (const { caughtUpAtMs } of this.#logs.values()) {
      if (caughtUpAtMs !== undefined) lagMs = Math.max(lagMs ?? 0, nowMs - caughtUpAtMs);
    }
    return lagMs;
  }

  describe(): readonly RouterLogSummary[] {
    const nowMs = this.#clock.monotonic();
    return [...this.#logs].map(([component, log]) => ({
      component,
      lines: log.lines,
      bytes: log.bytes,
      unparsedLines: log.unparsed,
      gaps: log.gaps,
      archives: log.archives ?? null,
      newest: log.newestMs === undefined ? null : new Date(log.newestMs).toISOString(),
      lagSeconds: log.caughtUpAtMs === undefined ? null : (nowMs - log.caughtUpAtMs) / 1000,
      secondsToLoss: log.msToLoss === undefined ? null : log.msToLoss / 1000,
      position: log.position ?? null,
    }));
  }

  #logOf(component: string): Log {
    const known = this.#logs.get(component);
    if (known) return known;
    const log: Log = {
      labels: { component },
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
    this.#logs.set(component, log);
    // Starts at zero, so that increase() shows the first gap.
    for (const certainty of GAP_CERTAINTIES) {
      this.#exposition.add(this.#router, F.logGaps, { component, certainty }, 0);
    }
    return log;
  }
}

function renderTime(utcMs: number | undefined): string | null {
  return utcMs === undefined ? null : new Date(utcMs).toISOString();
}
