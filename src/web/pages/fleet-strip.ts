import type { FleetMinute } from '../api/process.ts';
import { type Html, html } from './html.ts';
import { renderCount, renderLength } from './quantities.ts';

const MINUTES = 360;
const HEIGHT = 40;

/**
 * Adds up the minutes of several processes. Each has one entry a minute and one for now, so the entries of a minute are those
 * with the same distance from the end: the clocks of their machines do not matter.
 */
export function sumMinutes(lists: readonly (readonly FleetMinute[])[]): readonly FleetMinute[] {
  const [longest = []] = lists.toSorted((a, b) => b.length - a.length);
  return longest.map(({ at }, index) => {
    const sum = { at, up: 0, down: 0, stale: 0, other: 0 };
    for (const minutes of lists) {
      const minute = minutes[minutes.length - longest.length + index];
      for (const key of ['up', 'down', 'stale', 'other'] as const) sum[key] += minute?.[key] ?? 0;
    }
    return sum;
  });
}

/**
 * Renders the last hours, minute by minute: up from below, down and stale from above. `missing` names the processes whose
 * routers are not counted; empty = all are. `isFiltered`: the rest of the page is not about all routers.
 */
export function renderStrip(minutes: readonly FleetMinute[], missing: string, isFiltered: boolean): Html | string {
  const [first, last] = [minutes[0], minutes.at(-1)];
  if (!first || !last || minutes.length < 2) return '';
  const worst = minutes.reduce((most, minute) => (minute.down > most.down ? minute : most), first);
  const span = renderLength((Date.parse(last.at) - Date.parse(first.at)) / 1000);
  const without = `${isFiltered ? ', whole fleet' : ''}${missing === '' ? '' : ` without ${missing}`}`;
  const words =
    worst.down === 0
      ? `Last ${span}${without}: no router down.`
      : `Last ${span}${without}: at most ${renderCount(worst.down)} down, at ${worst.at.slice(11, 16)} UTC; now ${renderCount(last.down)}.`;
  const offset = Math.max(0, MINUTES - minutes.length);
  const draw = (toHeight: (minute: FleetMinute) => number, isFromTop: boolean) =>
    toPath(
      minutes.map((minute) => {
        const total = minute.up + minute.down + minute.other;
        const height = total === 0 ? 0 : (toHeight(minute) / total) * HEIGHT;
        // A single router of ten thousand shows, too.
        return toHeight(minute) > 0 ? Math.max(1.5, Math.round(height * 10) / 10) : 0;
      }),
      offset,
      isFromTop,
    );
  return html`<figure class="strip"><svg role="img" aria-label="${words}" viewBox="0 0 ${MINUTES} ${HEIGHT}" preserveAspectRatio="none"><title>${words}</title><path class="up" d="${draw(({ up }) => up, false)}"/><path class="down" d="${draw(({ down }) => down, true)}"/><path class="stale" d="${draw(({ stale }) => stale, true)}"/></svg>
<figcaption>${words} <span class="key"><span class="up">up</span>, <span class="down">down</span>, <span class="stale">of these stale</span></span></figcaption></figure>`;
}

/** One rectangle for each run of equal heights. */
function toPath(heights: readonly number[], offset: number, isFromTop: boolean): string {
  let path = '';
  for (let start = 0; start < heights.length; ) {
    const height = heights[start] ?? 0;
    let end = start + 1;
    while (end < heights.length && heights[end] === height) end++;
    if (height > 0) {
      const top = isFromTop ? 0 : Math.round((HEIGHT - height) * 10) / 10;
      path += `M${offset + start} ${top}h${end - start}v${height}h-${end - start}z`;
    }
    start = end;
  }
  return path;
}
