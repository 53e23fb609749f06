import { renderMany } from '../../base/index.ts';
import type { HistoryPoint } from '../api/router-detail.ts';
import { type Html, html, NOTHING, renderClock, renderLength } from './html.ts';

interface PlotPoint {
  /** Unix time in milliseconds. */
  readonly atMs: number;
  /** Seconds; `null`: the poll failed, or no value. */
  readonly value: number | null;
  /** True if the poll failed: drawn as a cross. */
  readonly isFailed: boolean;
}

interface HistorySeries {
  readonly title: string;
  /** Returns the value at a point; null without one. */
  readonly pick: (point: HistoryPoint) => number | null;
  /** Returns the least and greatest value of all polls at a point. Default: one value per point. */
  readonly range?: ((point: HistoryPoint) => readonly [number | null, number | null]) | undefined;
  readonly render: (value: number) => string;
  readonly isFromZero: boolean;
  /** Returns the grade of a value in a word. Default: none. */
  readonly grade?: ((value: number) => string) | undefined;
  /** Thresholds, drawn as lines across the chart. Default: none. */
  readonly limits?: readonly number[] | undefined;
}

/** Pixels. */
const POLLS = { width: 320, height: 72, margin: 6, radius: 2, cross: 3 } as const;
/** Pixels; `left` and `bottom` have the axes, `row` shows when the router was down. */
const HOURS = { width: 432, height: 124, left: 68, right: 8, top: 8, bottom: 18, radius: 1.5, row: 8 } as const;
/** Time of one point. Seconds. */
export const POINT_S = 180;

/** Renders a small line chart with crosses for failures and a caption that summarises it in words. */
export function renderPlot(title: string, points: readonly PlotPoint[]): Html {
  const { width, height, margin, cross } = POLLS;
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const summary = describePolls(values, points);
  const startMs = points[0]?.atMs ?? 0;
  const spanMs = Math.max(1, (points.at(-1)?.atMs ?? 0) - startMs);
  const most = Math.max(...values, Number.EPSILON);
  const toX = (index: number) =>
    round(margin + (((points[index]?.atMs ?? 0) - startMs) / spanMs) * (width - 2 * margin));
  const toY = (value: number) => round(height - margin - (Math.max(0, value) / most) * (height - 2 * margin));
  const lines = renderLines(
    points.map(({ value }) => value),
    toX,
    toY,
    POLLS.radius,
  );
  const y = height - margin - cross;
  return html`<figure>
<svg class="plot" role="img" aria-label="${title}: ${summary}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
${lines}
${points.map(({ isFailed }, index) =>
  isFailed
    ? html`<path class="cross" d="M${toX(index) - cross} ${y}l${2 * cross} ${2 * cross}m0 ${-2 * cross}l${-2 * cross} ${2 * cross}"/>`
    : '',
)}
</svg>
<figcaption><strong>${title}</strong>: ${summary}</figcaption>
</figure>`;
}

function describePolls(values: readonly number[], points: readonly PlotPoint[]): string {
  if (points.length === 0) return 'no data yet';
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => renderLength(sorted[Math.floor((sorted.length - 1) * share)] ?? null);
  const failed = points.filter(({ isFailed }) => isFailed).length;
  const spanSeconds = ((points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0)) / 1000;
  const range =
    values.length === 0
      ? NOTHING
      : `last ${renderLength(values.at(-1) ?? null)}, minimum ${at(0)}, median ${at(0.5)}, maximum ${at(1)}`;
  const over = `${renderMany(points.length, 'poll')} in ${renderLength(spanSeconds)}`;
  return `${range}; ${over}${failed > 0 ? `, ${failed} failed` : ''}.`;
}

/** Renders one value over the last hours with its axes and thresholds, the times when the router was down, and a caption in words. */
export function renderHistory(
  { title, pick, range, render, isFromZero, grade, limits = [] }: HistorySeries,
  points: readonly HistoryPoint[],
): Html | string {
  const { width, height, left, right, top, bottom, row, radius } = HOURS;
  const values = points.map(pick);
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  if (last === undefined) return '';
  const ranges = range ? points.flatMap(range).filter((value) => value !== null) : known;
  const [least, most] = [Math.min(...ranges), Math.max(...ranges)];
  const low = isFromZero ? Math.min(0, least) : least;
  const floor = height - bottom - row;
  const toX = (index: number) => round(left + (index / Math.max(1, points.length - 1)) * (width - left - right));
  // A value that never changed is drawn in the middle.
  const toY = (value: number) =>
    round(most === low ? (floor + top) / 2 : floor - ((value - low) / (most - low)) * (floor - top));
  const length = renderLength((points.length - values.findIndex((value) => value !== null)) * POINT_S);
  const rate = range ? '' : `, sampled every ${renderLength(POINT_S)}`;
  const words = `last ${render(last)}, minimum ${render(least)}, maximum ${render(most)} in the last ${length}${rate}`;
  const graded = grade ? renderGrade(points, range ?? ((point) => [pick(point), pick(point)]), grade) : '';
  const slot = round((width - left - right) / points.length);
  const down = points.map(({ result }, index) =>
    result === 'down' || result === 'mixed' ? `M${toX(index)} ${floor}h${slot}v${row}h-${slot}z` : '',
  );
  const ticks = [...new Set([low, (low + most) / 2, most])].filter((value) => most !== low || value === most);
  const times = [0, Math.floor((points.length - 1) / 2), points.length - 1];
  const shown = values.map((value) => (value === null ? '' : render(value))).join('|');
  return html`<figure><svg class="plot" role="img" aria-label="${title}: ${words}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" data-left="${left}" data-right="${right}" data-start="${points[0]?.at ?? ''}" data-step="${POINT_S}" data-values="${shown}">${ticks.map(
    (value) =>
      html`<path class="axis" d="M${left} ${toY(value)}H${width - right}"/><text x="${left - 6}" y="${toY(value) + 4}" text-anchor="end">${render(Number(value.toPrecision(3)))}</text>`,
  )}${limits
    .filter((limit) => limit > low && limit < most)
    .map((limit) => html`<path class="limit" d="M${left} ${toY(limit)}H${width - right}"/>`)}${times.map(
    (index, place) =>
      html`<text x="${toX(index)}" y="${height - 4}" text-anchor="${(['start', 'middle', 'end'] as const)[place]}" data-at="${points[index]?.at ?? ''}">${points[index]?.at.slice(11, 16) ?? ''}</text>`,
  )}${renderLines(values, toX, toY, radius)}<path class="down" d="${down.join('')}"/></svg>
<figcaption><strong>${title}</strong>: ${words}${graded}${down.some((path) => path !== '') ? '; red: polls failed' : ''}.<span class="cursor"></span></figcaption></figure>`;
}

/** Grade of the last value, and since when all readings had it. */
function renderGrade(
  points: readonly HistoryPoint[],
  range: NonNullable<HistorySeries['range']>,
  grade: (value: number) => string,
): Html | string {
  // A point whose readings differ has two grades.
  const graded = points.flatMap((point, index) => {
    const [least, most] = range(point);
    if (least === null || most === null) return [];
    const [word, other] = [grade(least), grade(most)];
    return [{ index, word: word === other ? word : '' }];
  });
  const last = graded.at(-1)?.word ?? '';
  if (last === '') return '';
  const before = graded.findLastIndex(({ word }) => word !== last);
  const first = graded[before + 1]?.index ?? 0;
  // After a point without a value, the first reading came at any time within this one.
  const isFollowed = graded[before]?.index === first - 1;
  const since = isFollowed ? points[first] : points[first + 1];
  if (!since) return `; ${last} now`;
  // The time before the first value is not known.
  return html`; ${last} since ${renderClock(since.at)}${before === -1 ? ' or longer' : ''}`;
}

/** Lines end where a value is missing; a single value is a dot. */
function renderLines(
  values: readonly (number | null)[],
  toX: (index: number) => number,
  toY: (value: number) => number,
  radius: number,
): readonly Html[] {
  const runs: { readonly x: number; readonly y: number }[][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)?.push({ x: toX(index), y: toY(value) });
  }
  return runs.flatMap((run) => {
    const [first] = run;
    if (!first) return [];
    if (run.length === 1) return [html`<circle cx="${first.x}" cy="${first.y}" r="${radius}"/>`];
    return [html`<polyline points="${run.map(({ x, y }) => `${x},${y}`).join(' ')}"/>`];
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
