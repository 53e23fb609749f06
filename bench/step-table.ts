import type { StepFigures } from './watch-steps.ts';

/** The longest steps of several runs, row by row. */
export class StepTable {
  readonly #rows = new Map<string, StepFigures[]>();

  add(what: string, figures: StepFigures): void {
    const row = this.#rows.get(what) ?? [];
    this.#rows.set(what, row);
    row.push(figures);
  }

  /** Renders each row: the longest step of every run in order, their median, the longest of all, and the median of the 99th percentiles. */
  render(): string {
    const lines = [...this.#rows].map(([what, row]) => {
      const longest = row.map(({ maxMs }) => maxMs);
      const [middle, p99] = [findMedian(longest), findMedian(row.map(({ p99Ms }) => p99Ms))];
      const each = longest.map((ms) => ms.toFixed(0)).join(' ');
      return `${what.padEnd(40)} ${each}; median ${middle.toFixed(0)}, longest ${Math.max(...longest).toFixed(0)}, p99 ${p99.toFixed(0)}\n`;
    });
    return `\nLongest step of the main thread in each run, ms of processor time\n${lines.join('')}`;
  }
}

function findMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
