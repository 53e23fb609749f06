import type { FleetMinute } from '../api/process.ts';
import { type Html, html } from './html.ts';
import { renderCount, renderLength } from './quantities.ts';

const MINUTES = 360;
const HEIGHT = 40;

/**
 * Renders the last hours, minute by minute: up from below, down and stale from above. `isPart`: of the routers of this process
 * alone, because each process counts its own.
 */
export function renderStrip(minutes: readonly FleetMinute[], isPart: boolean): Html | string {
  const [first, last] = [minutes[0], minutes.at(-1)];
  if (!first || !last || minutes.length < 2) return '';
  const worst = minutes.reduce((most, minute) => (minute.down > most.down ? minute : most), first);
  const span = renderLength((Date.parse(last.at) - Date.parse(first.at)) / 1000);
  const whose = isPart ? 'Routers of this process alone, last' : 'Last';
  const words =
    worst.down === 0
      ? `${whose} ${span}: no router down.`
      : `${whose} ${span}: at most ${renderCount(worst.down)} down, at ${worst.at.slice(11, 16)} UTC; now ${renderCount(last.down)}.`;
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
