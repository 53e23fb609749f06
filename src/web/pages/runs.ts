import type { RunSummary } from '../api/process.ts';
import { type Html, html } from './html.ts';
import { renderCount } from './quantities.ts';

/** Renders how many runs are under way and waiting, as one line. */
export function renderRuns({ running, waiting, heldBack, max }: RunSummary): Html {
  const held = heldBack > 0 ? html`, ${renderCount(heldBack)} held back of routers that do not answer` : '';
  return html`<p>Runs: ${renderCount(running)} of at most ${renderCount(max)} under way, ${renderCount(waiting)} waiting${held}.</p>
`;
}
