import { type Html, html } from './html.ts';
import { NOTHING, renderLength, renderMany } from './quantities.ts';

/** One point of a plot. */
export interface PlotPoint {
  /** Time of the poll, Unix time in ms. */
  readonly atMs: number;
  /** Seconds; `null` = the poll failed, or there was nothing to measure. */
  readonly value: number | null;
  /** True when the poll failed: drawn as a cross. */
  readonly isFailed: boolean;
}

const WIDTH = 320;
const HEIGHT = 72;
const MARGIN = 6;
const CROSS = 3;

/** Renders a small line chart with crosses for failures. The caption summarises the chart in words. */
export function renderPlot(title: string, points: readonly PlotPoint[]): Html {
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const failed = points.filter(({ isFailed }) => isFailed).length;
  const summary = describe(values, failed, points);
  const startMs = points[0]?.atMs ?? 0;
  const spanMs = Math.max(1, (points.at(-1)?.atMs ?? 0) - startMs);
  const most = Math.max(...values, Number.EPSILON);
  const toX = (atMs: number) => round(MARGIN + ((atMs - startMs) / spanMs) * (WIDTH - 2 * MARGIN));
  const toY = (value: number) => round(HEIGHT - MARGIN - (Math.max(0, value) / most) * (HEIGHT - 2 * MARGIN));
  return html`<figure>
<svg class="plot" role="img" aria-label="${title}: ${summary}" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">
${toLines(points).map((line) => {
  const [only] = line;
  if (line.length === 1 && only) return html`<circle cx="${toX(only.atMs)}" cy="${toY(only.value)}" r="2"/>`;
  return html`<polyline points="${line.map(({ atMs, value }) => `${toX(atMs)},${toY(value)}`).join(' ')}"/>`;
})}
${points.map(({ atMs, isFailed }) => (isFailed ? renderCross(toX(atMs), HEIGHT - MARGIN) : ''))}
</svg>
<figcaption><strong>${title}</strong>: ${summary}</figcaption>
</figure>`;
}

function renderCross(x: number, y: number): Html {
  return html`<path class="cross" d="M${x - CROSS} ${y - CROSS}l${2 * CROSS} ${2 * CROSS}m0 ${-2 * CROSS}l${-2 * CROSS} ${2 * CROSS}"/>`;
}

/** Splits the points into unbroken lines. */
function toLines(points: readonly PlotPoint[]): { readonly atMs: number; readonly value: number }[][] {
  const lines: { atMs: number; value: number }[][] = [[]];
  for (const { atMs, value } of points) {
    if (value === null) lines.push([]);
    else lines.at(-1)?.push({ atMs, value });
  }
  return lines.filter((line) => line.length > 0);
}

function describe(values: readonly number[], failed: number, points: readonly PlotPoint[]): string {
  if (points.length === 0) return 'no data yet';
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => renderLength(sorted[Math.floor((sorted.length - 1) * share)] ?? null);
  const spanSeconds = ((points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0)) / 1000;
  const range =
    values.length === 0
      ? NOTHING
      : `last ${renderLength(values.at(-1) ?? null)}, minimum ${at(0)}, median ${at(0.5)}, maximum ${at(1)}`;
  const over = `${renderMany(points.length, 'poll')} in ${renderLength(spanSeconds)}`;
  return `${range}; ${over}${failed > 0 ? `, ${failed} failed` : ''}.`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
