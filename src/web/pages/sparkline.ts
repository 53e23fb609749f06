import { type Html, html } from './html.ts';
import { NOTHING, renderLength } from './quantities.ts';

const HEIGHT = 14;
/** Length of a slot of the results. Seconds. */
const SLOT_SECONDS = 180;
/** Class and vertical extent by letter of the results. */
const MARKS: Readonly<Record<string, readonly [tone: string, y: number]>> = {
  u: ['up', 9],
  m: ['mixed', 4],
  d: ['down', 0],
};

/** Renders the results of the polls of the last hours as a row of marks: low for up, full height for down. */
export function renderSparkline(results: string): Html | string {
  const known = results.replaceAll('-', '').length;
  if (known === 0) return NOTHING;
  const up = results.replaceAll(/[^u]/g, '').length;
  const share = up === known ? '100' : ((up / known) * 100).toFixed(1);
  // The first and the last slot are not over or did not begin with a poll: no more time is claimed than was watched.
  const watched = results.replace(/^-+/, '').length;
  const seconds = watched === results.length ? watched * SLOT_SECONDS : (watched - 2) * SLOT_SECONDS;
  const span = seconds > 0 ? `last ${renderLength(seconds)}` : 'first polls';
  const words = `${share} % of the ${span} up`;
  const paths: Record<string, string> = {};
  for (const [run] of results.matchAll(/(.)\1*/g)) paths[run[0] ?? ''] = '';
  let x = 0;
  for (const [run] of results.matchAll(/(.)\1*/g)) {
    const letter = run[0] ?? '';
    const mark = MARKS[letter];
    if (mark) paths[letter] += `M${x} ${mark[1]}h${run.length}v${HEIGHT - mark[1]}h-${run.length}z`;
    x += run.length;
  }
  // Beside the last mark, that of now, there is room for one more: at the edge, less than a pixel would be cut off.
  return html`<svg class="spark" role="img" aria-label="${words}" viewBox="0 0 ${results.length + 1} ${HEIGHT}" preserveAspectRatio="none"><title>${words}</title>${Object.entries(
    paths,
  ).map(([letter, path]) => (MARKS[letter] ? html`<path class="${MARKS[letter][0]}" d="${path}"/>` : ''))}</svg>`;
}
