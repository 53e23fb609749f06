import type { RunSummary } from '../api/process.ts';
import { type Html, html } from './html.ts';
import { renderCount } from './quantities.ts';

/** Adds up the runs of several processes. */
export function sumRuns(all: readonly RunSummary[]): RunSummary {
  const sum = { running: 0, waiting: 0, heldBack: 0, max: 0 };
  for (const runs of all) {
    for (const key of ['running', 'waiting', 'heldBack', 'max'] as const) sum[key] += runs[key];
  }
  return sum;
}

/** Renders how many runs are under way and waiting, as one line. */
export function renderRuns({ running, waiting, heldBack, max }: RunSummary): Html {
  const held = heldBack > 0 ? html`, ${renderCount(heldBack)} held back of routers that do not answer` : '';
  return html`<p>Runs: ${renderCount(running)} of at most ${renderCount(max)} under way, ${renderCount(waiting)} waiting${held}.</p>
`;
}
