import type { PaceSummary } from '../api/router-detail.ts';
import { type Html, html } from './html.ts';
import { NOTHING, renderLength } from './quantities.ts';

/** Renders how fast a router answers, and what is asked for less often because of that. */
export function renderPace({ responseSeconds, level, isSignalPoor, stretch, statusStretch }: PaceSummary): Html {
  if (responseSeconds === null) return html`${NOTHING}`;
  const usual = html`usually after ${renderLength(responseSeconds)}`;
  if (level === 'usual') return usual;
  const why = isSignalPoor ? 'slow with a poor signal' : level === 'slow' ? 'slow' : 'very slow';
  return html`${usual}, <span class="warn">${why}</span>: slow modules and logs ${stretch} times as rarely, status ${statusStretch === 1 ? 'as configured' : `${statusStretch} times as rarely`}`;
}
