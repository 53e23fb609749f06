import { type Clock, compilePattern, isSelected, type Pattern } from '../../base/index.ts';
import { LiteralScan } from './literal-scan.ts';
import { findLiterals, type LiteralNeeds } from './literals.ts';
import type { LogRuleSettings, RedactSettings } from './settings.ts';

/** Value that a rule found in lines of one batch, with its labels. */
export interface RuleMatch {
  /** Name of the metric. */
  readonly metric: string;
  /** `counter`: `value` is to be added; `gauge`: it is the new value. */
  readonly kind: 'counter' | 'gauge';
  /** Labels of the series, without that of the component. */
  readonly labels: Readonly<Record<string, string>>;
  /** Sum over the lines for a counter, value of the last line for a gauge. */
  value: number;
}

/** Redacts and searches the messages of one log, one after the other. */
export interface MessageMatcher {
  /** Redacts a text. */
  redact(text: string): string;
  /** Applies the log rules to a redacted message. */
  search(message: string, totals: MatchTotals): void;
  /**
   * Reads a message of plain bytes (printable ASCII that JSON does not escape) that begins at a place. Returns the place of the
   * first other byte. From here on {@link mayChange} and {@link mayMatch} are about this message.
   */
  readPlain(bytes: Uint8Array, from: number): number;
  /** `message`: the text of the message that {@link readPlain} has read, so that nobody reads it again for literals. */
  noteText(message: string): void;
  /** False if {@link redact} would leave the message as it is, and it is not about a request of this program. */
  readonly mayChange: boolean;
  /** False if {@link search} would find nothing. */
  readonly mayMatch: boolean;
  /** Settings of the {@link LineMatcher} that it belongs to. */
  readonly text: string;
}

/** A request of this program has one of these. */
const OWN_REQUEST: LiteralNeeds = [[['get ']], [['post ']]];
/** Components whose rules are remembered; a fleet has some tens. */
const COMPONENTS_MAX = 1000;
const LABEL_CHARS_MAX = 128;

interface CompiledRule {
  readonly settings: LogRuleSettings;
  readonly pattern: Pattern;
  /** True if the match gives no label and no value. */
  readonly isPlain: boolean;
}

interface Removal {
  readonly pattern: Pattern;
  readonly replacement: string;
}

/** Redaction and log rules, compiled once for all routers. Patterns run only on lines that contain their literals. */
export class LineMatcher {
  /** The settings, for {@link LineMatcher.parse}. */
  readonly text: string;
  readonly #rules: readonly CompiledRule[];
  readonly #removals: readonly Removal[];
  /** For messages that nothing is done with. */
  static readonly none: MessageMatcher = new LineMatcher([]).#create('');

  /** The removals first, then the rules, then requests of this program. */
  readonly #scan: LiteralScan;
  #scanned: string | undefined;
  readonly #matchers = new Map<string, MessageMatcher>();

  /** Throws `PatternError` if a pattern cannot be compiled. */
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

  /** Renders the {@link text} of a matcher. */
  static render(rules: readonly LogRuleSettings[], redact: readonly RedactSettings[]): string {
    return JSON.stringify([rules, redact]);
  }

  /** Returns the matcher whose {@link text} this is. */
  static parse(text: string): LineMatcher {
    const [rules, redact] = JSON.parse(text) as [LogRuleSettings[], RedactSettings[]];
    return new LineMatcher(rules, redact);
  }

  /** Returns the matcher for the lines of a component; `undefined` if there is nothing to do. */
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
    // A pattern that runs on every line may match one without any literal.
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
      noteText: (message) => {
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
      // What was put in may hold literals that the text had not.
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

/** Matches of the log rules in one batch of lines, added up by series. A value that is no number is no match. */
export class MatchTotals {
  /** By rule, then by labels. */
  readonly #series = new Map<LogRuleSettings, Map<string, RuleMatch>>();

  /** Adds what a rule found in a line. */
  add(rule: LogRuleSettings, labels: RuleMatch['labels'], value: number): void {
    const ofRule = this.#series.get(rule) ?? new Map<string, RuleMatch>();
    if (ofRule.size === 0) this.#series.set(rule, ofRule);
    const key = rule.labels.length === 0 ? '' : JSON.stringify(labels);
    const known = ofRule.get(key);
    if (!known) ofRule.set(key, { metric: rule.name, kind: rule.type, labels, value });
    else known.value = rule.type === 'counter' ? known.value + value : value;
  }

  /** Returns the totals, one for each series of each rule. */
  list(): RuleMatch[] {
    return [...this.#series.values()].flatMap((ofRule) => [...ofRule.values()]);
  }
}

/** Series of one metric; further ones are one series whose labels say {@link OTHER}. */
const SERIES_MAX = 100;
const OTHER = 'other';

/** Bounds the series that the log rules make of the lines of one router. */
export class RuleSeries {
  readonly #seriesMax: number;
  /** Labels of the series of each metric, by these labels as JSON. */
  readonly #series = new Map<string, Map<string, RuleMatch['labels']>>();

  /** `seriesMax`: maximum number of series per metric. Default 100. */
  constructor(seriesMax: number = SERIES_MAX) {
    this.#seriesMax = seriesMax;
  }

  /** Returns the labels of the series to which a match belongs. */
  place({ metric, labels }: RuleMatch): RuleMatch['labels'] {
    const key = JSON.stringify(labels);
    const series = this.#series.get(metric) ?? new Map<string, RuleMatch['labels']>();
    this.#series.set(metric, series);
    const known = series.get(key);
    if (known) return known;
    if (series.size >= this.#seriesMax) return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
    // A copy: what a pattern finds is a part of the text of a whole chunk, and would keep that as long as there is a series.
    const copy = JSON.parse(key) as RuleMatch['labels'];
    series.set(key, copy);
    return copy;
  }
}

/** A pattern that runs on every line. */
export interface CostlyPattern {
  /** Metric of the log rule; `undefined` for a pattern of `redact`. */
  readonly metric: string | undefined;
  readonly pattern: string;
  /** `no-literal`: no text stands in all of its matches; `no-room`: the patterns before it take all room for such texts. */
  readonly reason: 'no-literal' | 'no-room';
  /** Measured time for a line of {@link SAMPLE_LINE_CHARS} characters, in microseconds. */
  readonly lineUs: number;
}

/** Length of the line that is measured; about that of a usual log line. */
export const SAMPLE_LINE_CHARS = 100;
/** Enough runs for the compiler of the engine to have seen the code. */
const RUNS = 2000;
/** No pattern is run longer than this. Milliseconds. */
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
