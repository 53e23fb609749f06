import type { HistoryPoint } from '../api/router-detail.ts';
import { type Html, html } from './html.ts';
import { NOTHING, renderClock, renderLength } from './quantities.ts';

/** One value of the last hours. */
export interface HistorySeries {
  /** Title, such as `RSRP`. */
  readonly title: string;
  /** Returns the value at a point; null without one. */
  readonly pick: (point: HistoryPoint) => number | null;
  /** Returns the least and the greatest value of all polls at a point. Default: only one value of each point is known. */
  readonly range?: ((point: HistoryPoint) => readonly [number | null, number | null]) | undefined;
  /** Renders a value with its unit. */
  readonly render: (value: number) => string;
  /** True when the axis begins at 0. */
  readonly isFromZero: boolean;
  /** Says in a word how good a value is. Default: nothing is said. */
  readonly grade?: ((value: number) => string) | undefined;
}

/** Length of a point. Seconds. */
const POINT_S = 180;
const WIDTH = 432;
const HEIGHT = 84;
const MARGIN = 4;
/** Height of the row that shows when the router was down. */
const ROW = 8;

/** Renders one value over the last hours, with the minutes in which the router was down. Words say what it shows. */
export function renderHistory(
  { title, pick, range, render, isFromZero, grade }: HistorySeries,
  points: readonly HistoryPoint[],
): Html | string {
  const values = points.map(pick);
  const known = values.filter((value) => value !== null);
  const ranges = range ? points.flatMap(range).filter((value) => value !== null) : known;
  if (known.length === 0) return '';
  const [least, most] = [Math.min(...ranges), Math.max(...ranges)];
  const low = isFromZero ? Math.min(0, least) : least;
  const height = Math.max(most - low, Number.EPSILON);
  const toX = (index: number) => round(MARGIN + (index / Math.max(1, points.length - 1)) * (WIDTH - 2 * MARGIN));
  const toY = (value: number) => round(HEIGHT - ROW - MARGIN - ((value - low) / height) * (HEIGHT - ROW - 2 * MARGIN));
  const last = known.at(-1);
  const span = renderLength((points.length - values.findIndex((value) => value !== null)) * POINT_S);
  const rate = range ? '' : `, sampled every ${renderLength(POINT_S)}`;
  const words = `last ${last === undefined ? NOTHING : render(last)}, minimum ${render(least)}, maximum ${render(most)} in the last ${span}${rate}`;
  const down = points.filter(({ result }) => result === 'down' || result === 'mixed').length;
  return html`<figure><svg class="plot" role="img" aria-label="${title}: ${words}" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">${toRuns(
    values,
  ).map((run) =>
    run.length === 1
      ? html`<circle cx="${toX(run[0]?.index ?? 0)}" cy="${toY(run[0]?.value ?? 0)}" r="1.5"/>`
      : html`<polyline points="${run.map(({ index, value }) => `${toX(index)},${toY(value)}`).join(' ')}"/>`,
  )}<path class="down" d="${points.map(({ result }, index) => (result === 'down' || result === 'mixed' ? `M${toX(index)} ${HEIGHT - ROW}h${round(WIDTH / points.length)}v${ROW}h-${round(WIDTH / points.length)}z` : '')).join('')}"/></svg>
<figcaption><strong>${title}</strong>: ${words}${grade ? renderGrade(points, range ?? ((point) => [pick(point), pick(point)]), grade) : ''}${down > 0 ? '; red: polls failed' : ''}.</figcaption></figure>`;
}

/** Renders how good the last value is, and since when all readings were. */
function renderGrade(
  points: readonly HistoryPoint[],
  range: NonNullable<HistorySeries['range']>,
  grade: (value: number) => string,
): Html | string {
  // The last point with a value; a point whose readings differ has two grades.
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
  // Where the point before has no value, the first reading of this one came at any time within it.
  const isFollowed = graded[before]?.index === first - 1;
  const since = isFollowed ? points[first] : points[first + 1];
  if (!since) return `; ${last} now`;
  // What was before the first value is not known.
  return html`; ${last} since ${renderClock(since.at)}${before === -1 ? ' or longer' : ''}`;
}

/** Splits the values into runs without a hole. */
function toRuns(values: readonly (number | null)[]): { readonly index: number; readonly value: number }[][] {
  const runs: { index: number; value: number }[][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)?.push({ index, value });
  }
  return runs.filter((run) => run.length > 0);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
