/** The agent's own figures at one moment. */
export interface AgentFigures {
  /** Processor time of the process since its start. Seconds. */
  readonly processorSeconds: number;
  readonly residentBytes: number;
  /** Polls since the start. */
  readonly polls: number;
  /** Starts of polls and readings of logs by how late they were: number up to each bound. Seconds. */
  readonly lags: ReadonlyMap<number, number>;
}

/** Reads the figures from the agent's metrics about itself, in the text format. */
export function parseAgentFigures(text: string): AgentFigures {
  const sum = (pattern: RegExp): number =>
    text
      .matchAll(pattern)
      .map(([, value]) => Number(value))
      .reduce((total, value) => total + value, 0);
  const lags = new Map<number, number>();
  for (const [, bound, count] of text.matchAll(
    /^router_exporter_schedule_lag_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)$/gm,
  )) {
    const seconds = bound === '+Inf' ? Infinity : Number(bound);
    lags.set(seconds, (lags.get(seconds) ?? 0) + Number(count));
  }
  return {
    processorSeconds: sum(/^process_cpu_seconds_total (\S+)$/gm),
    residentBytes: sum(/^process_resident_memory_bytes (\S+)$/gm),
    polls: sum(/^router_exporter_polls_total(?:\{[^}]*\})? (\S+)$/gm),
    lags,
  };
}

/**
 * Returns the bound under which 99 % of the lags between two moments were. Seconds; `Infinity` beyond the last bound,
 * `undefined` if nothing was started.
 */
export function findLagBound(before: AgentFigures, after: AgentFigures): number | undefined {
  const counts = [...after.lags]
    .map(([bound, count]) => [bound, count - (before.lags.get(bound) ?? 0)] as const)
    .toSorted(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  return total === 0 ? undefined : counts.find(([, count]) => count >= 0.99 * total)?.[0];
}
