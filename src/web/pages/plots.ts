import type { HistoryPoint } from '../api/router-detail.ts';
import { type Html, html, renderClock, renderLength } from './html.ts';

interface HistoryLine {
  /** Before the values in words and under the pointer; empty if there is only one line. */
  readonly name: string;
  /** Returns the value at a point; null without one. */
  readonly pick: (point: HistoryPoint) => number | null;
}

/** One chart. */
export interface HistorySeries {
  readonly title: string;
  /** One or two. */
  readonly lines: readonly HistoryLine[];
  /** Returns the least and greatest value of all polls at a point. Default: one value per point. */
  readonly range?: ((point: HistoryPoint) => readonly [number | null, number | null]) | undefined;
  readonly render: (value: number) => string;
  /** True if its axis need not begin at zero. */
  readonly isZoomed?: boolean;
  /** Returns the grade of a value in a word. Default: none. */
  readonly grade?: ((value: number) => string) | undefined;
  /** Thresholds, drawn as lines across the chart. Default: none. */
  readonly limits?: readonly number[] | undefined;
}

/** Pixels; `left` and `bottom` have the axes, `row` shows when the router was down. */
const HOURS = { width: 432, height: 124, left: 68, right: 8, top: 8, bottom: 18, radius: 1.5, row: 8 } as const;
/** Time of one point. Seconds. */
export const POINT_S = 180;

/** Returns the runs of points for which a condition holds. */
function findRuns(points: readonly HistoryPoint[], holds: (point: HistoryPoint) => boolean) {
  const runs: { readonly start: number; length: number }[] = [];
  for (const [index, point] of points.entries()) {
    const last = runs.at(-1);
    if (!holds(point)) continue;
    if (last && last.start + last.length === index) last.length++;
    else runs.push({ start: index, length: 1 });
  }
  return runs;
}

/**
 * Renders values over time with their axes and thresholds, the times when the router was down or not watched, and a caption in words.
 * Empty without any value.
 */
export function renderHistory(
  { title, lines, range, render, isZoomed, grade, limits = [] }: HistorySeries,
  points: readonly HistoryPoint[],
): Html | string {
  const { width, height, left, right, top, bottom, row, radius } = HOURS;
  const columns = lines.map(({ name, pick }) => ({ name, values: points.map(pick) }));
  const known = columns.flatMap(({ values }) => values).filter((value) => value !== null);
  if (known.length === 0) return '';
  const ranges = range ? points.flatMap(range).filter((value) => value !== null) : known;
  const [least, most] = [Math.min(...ranges), Math.max(...ranges)];
  const low = isZoomed ? least : Math.min(0, least);
  const floor = height - bottom - row;
  const toX = (index: number) => round(left + (index / Math.max(1, points.length - 1)) * (width - left - right));
  // A value that never changed is drawn in the middle.
  const toY = (value: number) =>
    round(most === low ? (floor + top) / 2 : floor - ((value - low) / (most - low)) * (floor - top));
  const first = points.findIndex((_, index) => columns.some(({ values }) => values[index] !== null));
  const rate = range ? '' : `, sampled every ${renderLength(POINT_S)}`;
  const words = `${columns
    .map(({ name, values }) => describeLine(name, range ? ranges : values, values, render))
    .filter((text) => text !== '')
    .join('; ')} in the last ${renderLength((points.length - first) * POINT_S)}${rate}`;
  const one = lines[0]?.pick ?? (() => null);
  const graded = grade ? renderGrade(points, range ?? ((point) => [one(point), one(point)]), grade) : '';
  const slot = (width - left - right) / points.length;
  const draw = (start: number, length: number, y: number) =>
    `M${round(left + start * slot)} ${y}h${round(slot * length)}V${floor + row}h-${round(slot * length)}z`;
  const down = findRuns(points, ({ result }) => result === 'down' || result === 'mixed');
  const watched = points.findIndex(({ result }) => result !== null);
  const holes = findRuns(points, ({ result }) => result === null).filter(({ start }) => start > watched);
  const unwatched = holes.reduce((sum, { length }) => sum + length, 0);
  const ticks = [...new Set([low, (low + most) / 2, most])].filter((value) => most !== low || value === most);
  const times = [0, Math.floor((points.length - 1) / 2), points.length - 1];
  const shown = points.map((_, index) =>
    columns
      .flatMap(({ name, values: { [index]: value } }) =>
        typeof value === 'number' ? `${render(value)}${name && ` ${name}`}` : [],
      )
      .join(', '),
  );
  return html`<figure><svg class="plot" role="img" aria-label="${title}: ${words}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" data-left="${left}" data-right="${right}" data-start="${points[0]?.at ?? ''}" data-step="${POINT_S}" data-values="${shown.join('|')}"><path class="unwatched" d="${holes.map(({ start, length }) => draw(start, length, top)).join('')}"/>${ticks.map(
    (value) =>
      html`<path class="axis" d="M${left} ${toY(value)}H${width - right}"/><text x="${left - 6}" y="${toY(value) + 4}" text-anchor="end">${render(Number(value.toPrecision(3)))}</text>`,
  )}${limits
    .filter((limit) => limit > low && limit < most)
    .map((limit) => html`<path class="limit" d="M${left} ${toY(limit)}H${width - right}"/>`)}${times.map(
    (index, place) =>
      html`<text x="${toX(index)}" y="${height - 4}" text-anchor="${(['start', 'middle', 'end'] as const)[place]}" data-at="${points[index]?.at ?? ''}">${points[index]?.at.slice(11, 16) ?? ''}</text>`,
  )}${columns.map(({ values }, index) => html`<g class="line${index}">${renderLines(values, toX, toY, radius)}</g>`)}<path class="down" d="${down.map(({ start, length }) => draw(start, length, floor)).join('')}"/></svg>
<figcaption><strong>${title}</strong>: ${words}${graded}${columns[1] ? `; dashed: ${columns[1].name}` : ''}${down.length > 0 ? '; red: polls failed' : ''}${unwatched > 0 ? `; grey: ${renderLength(unwatched * POINT_S)} not watched` : ''}.<span class="cursor"></span></figcaption></figure>`;
}

function describeLine(
  name: string,
  all: readonly (number | null)[],
  values: readonly (number | null)[],
  render: (value: number) => string,
): string {
  const known = all.filter((value) => value !== null);
  const last = values.findLast((value) => value !== null);
  if (last === undefined || last === null) return '';
  return `${name && `${name} `}last ${render(last)}, minimum ${render(Math.min(...known))}, maximum ${render(Math.max(...known))}`;
}

/** Grade of the last value, and since when all readings had it; until when, if there is none since. */
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
  const { index: end = 0, word: last = '' } = graded.at(-1) ?? {};
  if (last === '') return '';
  const before = graded.findLastIndex(({ word }) => word !== last);
  const first = graded[before + 1]?.index ?? 0;
  // After a point without a value, the first reading came at any time within this one.
  const isFollowed = graded[before]?.index === first - 1;
  const since = isFollowed ? first : first + 1;
  // The newest point may not have a value yet.
  const isOver = end < points.length - 2;
  if (since > end || (isOver && since === end)) return `; ${last} at the last reading`;
  const until = isOver ? html`, until ${renderClock(points[end]?.at ?? '')}` : '';
  // The time before the first value is not known.
  return html`; ${last} since ${renderClock(points[since]?.at ?? '')}${before === -1 ? ' or longer' : ''}${until}`;
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
