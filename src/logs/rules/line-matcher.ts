import { type Clock, compilePattern, isSelected, type Pattern } from '../../base/index.ts';
import { findLiterals, type LiteralNeeds, LiteralScan } from './literals.ts';
import type { LogRuleSettings, RedactSettings } from './settings.ts';

/** A value that a rule found in the lines of one batch. */
export interface RuleMatch {
  readonly metric: string;
  /** `counter`: `value` is added; `gauge`: it replaces the previous value. */
  readonly kind: 'counter' | 'gauge';
  readonly labels: Readonly<Record<string, string>>;
  /** Sum for a counter, last value for a gauge. */
  value: number;
}

/** Redacts and searches the messages of one log, one after another. */
export interface MessageMatcher {
  redact(text: string): string;
  search(message: string, totals: MatchTotals): void;
  /**
   * Scans plain bytes (printable ASCII that JSON does not escape) and returns the place of the first other byte. {@link
   * mayChange} and {@link mayMatch} then apply to this message.
   */
  readPlain(bytes: Uint8Array, from: number): number;
  /** Sets the text of the message read by {@link readPlain}, so that it is not scanned again. */
  setText(message: string): void;
  /** False if {@link redact} would change nothing and the message is not about a request of this program. */
  readonly mayChange: boolean;
  /** False if {@link search} would find nothing. */
  readonly mayMatch: boolean;
  /** Settings of the {@link LineMatcher}, as text. */
  readonly text: string;
}

/** Literals of requests of this program. */
const OWN_REQUEST: LiteralNeeds = [[['get ']], [['post ']]];
/** Remembered components. A fleet has a few dozen. */
const COMPONENTS_MAX = 1000;
const LABEL_CHARS_MAX = 128;

interface CompiledRule {
  readonly settings: LogRuleSettings;
  readonly pattern: Pattern;
  readonly isPlain: boolean;
}

interface Removal {
  readonly pattern: Pattern;
  readonly replacement: string;
}

/** Redaction and log rules, compiled once for all routers. A pattern runs only on lines that contain its literals. */
export class LineMatcher {
  readonly text: string;
  readonly #rules: readonly CompiledRule[];
  readonly #removals: readonly Removal[];
  static readonly none: MessageMatcher = new LineMatcher([]).#create('');

  readonly #scan: LiteralScan;
  #scanned: string | undefined;
  readonly #matchers = new Map<string, MessageMatcher>();

  /** Throws `PatternError` if a pattern is invalid. */
  constructor(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[] = []) {
    this.text = LineMatcher.render(rules, redact);
    this.#removals = redact.map(({ pattern, replacement }) => ({ pattern: compilePattern(pattern), replacement }));
    this.#rules = rules.map((settings) => ({
      settings,
      pattern: compilePattern(settings.pattern),
      isPlain: settings.labels.length === 0 && settings.value === undefined,
    }));
    const patterns = [...this.#removals, ...this.#rules].map(({ pattern }) => findLiterals(pattern.source));
    this.#scan = new LiteralScan([...patterns, OWN_REQUEST]);
  }

  static render(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]): string {
    return JSON.stringify([rules, redact]);
  }

  static parse(text: string): LineMatcher {
    const [rules, redact] = JSON.parse(text) as [LogRuleSettings[], RedactSettings[]];
    return new LineMatcher(rules, redact);
  }

  /** Returns the matcher for a component; `undefined` if there are no patterns. */
  of(component: string): MessageMatcher | undefined {
    if (this.#rules.length + this.#removals.length === 0) return undefined;
    const known = this.#matchers.get(component);
    if (known) return known;
    if (this.#matchers.size >= COMPONENTS_MAX) this.#matchers.clear();
    const matcher = this.#create(component);
    this.#matchers.set(component, matcher);
    return matcher;
  }

  #create(component: string): MessageMatcher {
    const rules = [...this.#rules.entries()].filter(([, { settings }]) => isSelected(component, settings.components));
    const scan = this.#scan;
    const removals = this.#removals.length;
    const ownRequest = removals + this.#rules.length;
    // A pattern without literals may match any line.
    const alwaysChanges = !scan.isFiltered(ownRequest) || this.#removals.some((_, index) => !scan.isFiltered(index));
    const alwaysMatches = rules.some(([index]) => !scan.isFiltered(removals + index));
    return {
      text: this.text,
      redact: (text) => this.#redact(text),
      search: (message, totals) => {
        if (rules.length > 0) this.#search(rules, message, totals);
      },
      readPlain: (bytes, from) => {
        this.#scanned = undefined;
        return scan.readPlain(bytes, from);
      },
      setText: (message) => {
        this.#scanned = message;
      },
      get mayChange() {
        if (alwaysChanges) return true;
        return scan.hasMet && (scan.canMatch(ownRequest) || scan.canMatchAny(0, removals));
      },
      get mayMatch() {
        return alwaysMatches || (scan.hasMet && scan.canMatchAny(removals, ownRequest));
      },
    };
  }

  #redact(text: string): string {
    if (this.#removals.length === 0) return text;
    this.#read(text);
    return this.#removals.reduce((rest, { pattern, replacement }, index) => {
      // A replacement may add literals.
      const canMatch = rest !== text || this.#scan.canMatch(index);
      return canMatch ? pattern.replaceAll(rest, replacement) : rest;
    }, text);
  }

  #search(rules: readonly (readonly [number, CompiledRule])[], message: string, totals: MatchTotals): void {
    this.#read(message);
    for (const [index, rule] of rules) {
      if (this.#scan.canMatch(this.#removals.length + index)) searchFor(rule, message, totals);
    }
  }

  #read(text: string): void {
    if (text === this.#scanned) return;
    this.#scanned = text;
    this.#scan.read(text);
  }
}

function searchFor({ settings, pattern, isPlain }: CompiledRule, message: string, totals: MatchTotals): void {
  if (isPlain) {
    if (pattern.test(message)) totals.add(settings, settings.fixed_labels, 1);
    return;
  }
  const groups = pattern.match(message);
  if (!groups) return;
  const text = settings.value === undefined ? '1' : (groups[settings.value] ?? '');
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || (settings.type === 'counter' && value < 0)) return;
  const own = settings.labels.map((name) => [name, (groups[name] ?? '').slice(0, LABEL_CHARS_MAX)]);
  totals.add(settings, { ...Object.fromEntries(own), ...settings.fixed_labels }, value);
}

/** Matches of the log rules in one batch, summed by series. A value that is not a number is no match. */
export class MatchTotals {
  readonly #series = new Map<LogRuleSettings, Map<string, RuleMatch>>();

  add(rule: LogRuleSettings, labels: RuleMatch['labels'], value: number): void {
    const ofRule = this.#series.get(rule) ?? new Map<string, RuleMatch>();
    if (ofRule.size === 0) this.#series.set(rule, ofRule);
    const key = rule.labels.length === 0 ? '' : JSON.stringify(labels);
    const known = ofRule.get(key);
    if (!known) ofRule.set(key, { metric: rule.name, kind: rule.type, labels, value });
    else known.value = rule.type === 'counter' ? known.value + value : value;
  }

  list(): RuleMatch[] {
    return [...this.#series.values()].flatMap((ofRule) => [...ofRule.values()]);
  }
}

/** Maximum series of one metric. Further label values become {@link OTHER}. */
const SERIES_MAX = 100;
const OTHER = 'other';

/** Bounds the series of the log rules of one router. */
export class RuleSeries {
  readonly #series = new Map<string, Map<string, RuleMatch['labels']>>();

  place({ metric, labels }: RuleMatch): RuleMatch['labels'] {
    const key = JSON.stringify(labels);
    const series = this.#series.get(metric) ?? new Map<string, RuleMatch['labels']>();
    this.#series.set(metric, series);
    const known = series.get(key);
    if (known) return known;
    if (series.size >= SERIES_MAX) return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
    // A copy, because a match is a slice of a chunk and would keep the chunk alive as long as the series.
    const copy = JSON.parse(key) as RuleMatch['labels'];
    series.set(key, copy);
    return copy;
  }
}

/** A pattern that runs on every line. */
export interface CostlyPattern {
  /** Metric of the log rule; `undefined` for `redact`. */
  readonly metric: string | undefined;
  readonly pattern: string;
  /** `no-literal`: its matches share no text; `no-room`: earlier patterns use all states of the scan. */
  readonly reason: 'no-literal' | 'no-room';
  /** Measured time for a line of {@link SAMPLE_LINE_CHARS} characters. Microseconds. */
  readonly lineUs: number;
}

/** Length of the measured line, about that of a common log line. */
export const SAMPLE_LINE_CHARS = 100;
/** Enough runs for the optimising compiler. */
const RUNS = 2000;
/** Limit of one measurement. Milliseconds. */
const MEASURE_MS_MAX = 50;
const SAMPLE = 'eth1.2: 10.11.12.13 port 4711 -> link 100 Mbit/s, id 0x3fa9; state 3 '
  .repeat(2)
  .slice(0, SAMPLE_LINE_CHARS);

/** Lists the patterns that run on every line, with their cost on this machine. */
export function listCostlyPatterns(
  rules: readonly LogRuleSettings[],
  redact: readonly RedactSettings[],
  clock: Clock,
): CostlyPattern[] {
  const patterns = [
    ...redact.map(({ pattern }) => ({ metric: undefined, pattern })),
    ...rules.map(({ name, pattern }) => ({ metric: name, pattern })),
  ];
  const needs = patterns.map(({ pattern }) => findLiterals(pattern));
  const scan = new LiteralScan(needs);
  return patterns.flatMap((one, index) => {
    if (scan.isFiltered(index)) return [];
    const reason = needs[index] ? 'no-room' : 'no-literal';
    return [{ ...one, reason, lineUs: measure(one.pattern, clock) } as const];
  });
}

function measure(source: string, clock: Clock): number {
  const pattern = compilePattern(source);
  const startMs = clock.monotonic();
  let runs = 0;
  do {
    pattern.test(SAMPLE);
    runs++;
  } while (runs < RUNS && clock.monotonic() - startMs < MEASURE_MS_MAX);
  return ((clock.monotonic() - startMs) * 1000) / runs;
}
