import { type Clock, renderErrorChain } from '../../base/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import {
  type KnownGap,
  type LinkVerdict,
  type LogEvent,
  noteGap,
  noteGapEnd,
  unshippedStateOf,
} from '../../logs/index.ts';
import type { FamilyDescription, GapCertainty, Labels, RouterIdentity } from '../../model/index.ts';
import type { LogGapSummary, RouterLogSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import { toSeconds, toTime } from '../times.ts';
import type { RecordOrigin } from '../views/last-lines.ts';

interface Log {
  /** Labels of all series about the log. */
  readonly labels: Labels;
  lines: number;
  bytes: number;
  unparsed: number;
  gaps: number;
  msToLoss: number | undefined;
  /** When the router deletes what it had at the last look. Monotonic. */
  lossAtMs: number | undefined;
  /** When a file that is looked for becomes a gap. Milliseconds since the Unix epoch. */
  gapAtMs: number | undefined;
  archives: number | undefined;
  /** Wall time, milliseconds since the Unix epoch. */
  newestMs: number | undefined;
  /** Monotonic. */
  caughtUpAtMs: number | undefined;
  /** First attempt to read it. Monotonic. */
  triedAtMs: number | undefined;
  position: { readonly file: string; readonly offset: number } | undefined;
  /** Why its lines are not shipped although they are received. */
  unshipped: NonNullable<RouterLogSummary['unshipped']> | undefined;
}

type EventOf<T extends LogEvent['type']> = Extract<LogEvent, { readonly type: T }>;

const GAP_CERTAINTIES: readonly GapCertainty[] = ['certain', 'likely', 'possible'];

/** Returns the part of the exposition with the values of one rule. */
const toPart = (metric: string) => `log-rule:${metric}`;

/** State and counters of each log of a router, and their series. */
export class LogStats {
  readonly #router: RouterIdentity;
  readonly #exposition: FleetExposition;
  readonly #clock: Clock;
  #ruleFamilies: ReadonlyMap<string, FamilyDescription>;
  readonly #logs = new Map<string, Log>();
  /** {@link Log.caughtUpAtMs} of the log that is furthest behind, for the lists of routers; `null` = one of the logs changed since. */
  #caughtUpAtMs: number | undefined | null;
  /** The smallest {@link Log.lossAtMs}; `null` = one of the logs changed since. */
  #lossAtMs: number | undefined | null;
  /** The newest first. */
  #gaps: readonly KnownGap[] = [];
  #links: LinkVerdict | undefined;
  /** Values of rules that are gauges, if there are any: by metric, then by labels. The rules themselves bound how many there are. */
  #ruleValues: Map<string, Map<string, readonly [Labels, number]>> | undefined;

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
    for (const component of archives.keys()) this.#logOf(component);
    for (const [component, log] of this.#logs) log.archives = archives.get(component);
  }

  /** Forgets logs, with their series. */
  recordForgotten({ components }: EventOf<'logs-forgotten'>): void {
    for (const component of components) {
      this.#logs.delete(component);
      this.#caughtUpAtMs = null;
      this.#lossAtMs = null;
      for (const [metric, values] of this.#ruleValues ?? []) {
        for (const [key, [labels]] of values) if (labels['component'] === component) values.delete(key);
        this.#publishRuleValues(metric);
      }
    }
    this.#exposition.forgetCounters(this.#router.name, 'component', components);
    this.#publish();
    this.#publishUnshipped();
  }

  recordRead({ component, lines, bytes, unparsed, newestUtcMs }: EventOf<'log-read'>): void {
    const log = this.#logOf(component);
    this.#noteAttempt(log);
    log.lines += lines;
    log.bytes += bytes;
    log.unparsed += unparsed;
    if (newestUtcMs !== undefined) log.newestMs = newestUtcMs;
  }

  /** Records that a file of a log could not be read. */
  recordFailed({ component, cause }: EventOf<'log-failed'>): void {
    const log = this.#logOf(component);
    this.#noteAttempt(log);
    const state = unshippedStateOf(cause);
    if (state) this.#noteUnshipped(log, { state, message: renderErrorChain(cause) });
  }

  recordCaughtUp({ component }: EventOf<'log-caught-up'>): void {
    const log = this.#logOf(component);
    log.caughtUpAtMs = this.#clock.monotonic();
    this.#noteUnshipped(log, undefined);
    this.#caughtUpAtMs = null;
  }

  recordGap(gap: EventOf<'log-gap-found'>): void {
    this.#gaps = noteGap(this.#gaps, gap);
    this.#logOf(gap.component).gaps += gap.reason === 'skipped' ? 0 : 1;
  }

  recordGapEnd(end: EventOf<'log-gap-ended'>): void {
    this.#gaps = noteGapEnd(this.#gaps, end);
  }

  /** Takes over the gaps that are stored: those that this process has found are among them. */
  recallGaps(gaps: readonly KnownGap[]): void {
    this.#gaps = gaps;
  }

  recordRetention({ component, msToLoss, gapAtMs }: EventOf<'log-retention'>): void {
    const lossAtMs = msToLoss === undefined ? undefined : this.#clock.monotonic() + msToLoss;
    Object.assign(this.#logOf(component), { msToLoss, lossAtMs, gapAtMs });
    this.#lossAtMs = null;
  }

  /** Adds a rule's match to its counter, or sets its gauge. */
  recordRuleMatch({ component, metric, labels: own, value }: EventOf<'log-rule-matched'>): void {
    const family = this.#ruleFamilies.get(metric);
    const labels = { component, ...own };
    if (family?.type === 'counter') this.#exposition.add(this.#router, family, labels, value);
    if (family?.type !== 'gauge') return;
    this.#ruleValues ??= new Map();
    const values = this.#ruleValues.get(metric) ?? new Map<string, readonly [Labels, number]>();
    this.#ruleValues.set(metric, values.set(JSON.stringify(labels), [labels, value]));
    this.#publishRuleValues(metric);
  }

  /** Counts for other rules from now on. Values of gauges go away: what would set them may be another line. */
  useRules(families: ReadonlyMap<string, FamilyDescription>): void {
    for (const metric of this.#ruleValues?.keys() ?? []) this.#exposition.publish(this.#router, toPart(metric), []);
    this.#ruleValues = undefined;
    this.#ruleFamilies = families;
  }

  #publishRuleValues(metric: string): void {
    const family = this.#ruleFamilies.get(metric);
    if (!family) return;
    const samples = [...(this.#ruleValues?.get(metric)?.values() ?? [])];
    this.#exposition.publish(this.#router, toPart(metric), [toFamily(family, samples)]);
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
    return this.#gaps.map(({ foundMs, component, certainty, reason, bytesMin, untilUtcMs }) => ({
      at: new Date(foundMs).toISOString(),
      component,
      certainty,
      reason,
      bytesMin: bytesMin ?? null,
      until: toTime(untilUtcMs),
    }));
  }

  /** Time since the log that is furthest behind was read to its end. Milliseconds. */
  get lagMs(): number | undefined {
    if (this.#caughtUpAtMs === null) this.#caughtUpAtMs = this.#findOldest();
    return this.#caughtUpAtMs === undefined ? undefined : this.#clock.monotonic() - this.#caughtUpAtMs;
  }

  /** Time since when unread lines may be lost, because no log was read for longer than its time to loss. Unix time in ms. */
  get lossSinceMs(): number | undefined {
    if (this.#lossAtMs === null) {
      const times = [...this.#logs.values()].flatMap(({ lossAtMs }) => lossAtMs ?? []);
      this.#lossAtMs = times.length === 0 ? undefined : Math.min(...times);
    }
    return this.#toLossSince(this.#lossAtMs);
  }

  #toLossSince(lossAtMs: number | undefined): number | undefined {
    const passedMs = this.#clock.monotonic() - (lossAtMs ?? Infinity);
    return passedMs < 0 ? undefined : this.#clock.now() - passedMs;
  }

  #findOldest(): number | undefined {
    let oldestMs: number | undefined;
    for (const { caughtUpAtMs } of this.#logs.values()) {
      if (caughtUpAtMs !== undefined) oldestMs = Math.min(oldestMs ?? Infinity, caughtUpAtMs);
    }
    return oldestMs;
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
      newest: toTime(log.newestMs),
      lagSeconds: log.caughtUpAtMs === undefined ? null : (nowMs - log.caughtUpAtMs) / 1000,
      secondsToLoss: toSeconds(log.msToLoss) ?? null,
      gapAt: toTime(log.gapAtMs),
      lossSince: toTime(this.#toLossSince(log.lossAtMs)),
      position: log.position ?? null,
      unshipped: log.unshipped ?? null,
    }));
  }

  #noteUnshipped(log: Log, unshipped: Log['unshipped']): void {
    const before = log.unshipped?.state;
    log.unshipped = unshipped;
    if (before !== unshipped?.state) this.#publishUnshipped();
  }

  #publishUnshipped(): void {
    const samples = [...this.#logs].flatMap(([component, { unshipped }]): [Labels, number][] => {
      return unshipped ? [[{ component, reason: unshipped.state }, 1]] : [];
    });
    this.#exposition.publish(this.#router, 'unshipped-logs', [toFamily(F.logUnshipped, samples)]);
  }

  /** A log that is never read to its end lags from its first attempt on: without a lag, nothing would tell of it. */
  #noteAttempt(log: Log): void {
    log.triedAtMs ??= this.#clock.monotonic();
  }

  /** Publishes the gauges of all logs; their values are read at each scrape. */
  #publish(): void {
    const logs = [...this.#logs.values()];
    this.#exposition.publishLive(this.#router, logs, [
      [F.logArchives, readArchives],
      [F.logNewest, readNewest],
      [F.logSecondsToLoss, readSecondsToLoss],
      [F.logLag, readLag],
    ]);
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
      lossAtMs: undefined,
      gapAtMs: undefined,
      archives: undefined,
      newestMs: undefined,
      caughtUpAtMs: undefined,
      triedAtMs: undefined,
      position: undefined,
      unshipped: undefined,
    };
    this.#logs.set(component, log);
    this.#publish();
    // Starts at zero, so that increase() shows the first gap.
    for (const certainty of GAP_CERTAINTIES) {
      this.#exposition.add(this.#router, F.logGaps, { component, certainty, reason: 'missing' }, 0);
    }
    return log;
  }
}

function readArchives({ archives }: Log): number | undefined {
  return archives;
}

function readNewest({ newestMs }: Log): number | undefined {
  return toSeconds(newestMs);
}

function readSecondsToLoss({ msToLoss }: Log): number | undefined {
  return toSeconds(msToLoss);
}

function readLag({ caughtUpAtMs, triedAtMs }: Log, nowMs: number): number | undefined {
  const sinceMs = caughtUpAtMs ?? triedAtMs;
  return sinceMs === undefined ? undefined : (nowMs - sinceMs) / 1000;
}
