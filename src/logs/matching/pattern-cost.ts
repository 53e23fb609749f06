import { type Clock, compilePattern } from '../../base/index.ts';
import type { LogRuleSettings, RedactSettings } from '../line-settings/log-rule-schema.ts';
import { LiteralScan } from './literal-scan.ts';
import { findLiterals } from './literals.ts';

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
