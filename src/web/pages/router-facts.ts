import { renderMany } from '../../base/index.ts';
import type { PollFault, RouterState, RouterSummary, SignalSummary } from '../api/routers.ts';
import { type Html, html, NOTHING, renderLength, toShown } from './html.ts';
import { POINT_S } from './plots.ts';

/** Signal values of a modem. */
export type SignalKind = SignalSummary['kind'] | 'rsrq' | 'sinr';

/** Limits between unusable, poor, fair and good; the first is that of the alert `RouterSignalPoor`. */
export const SIGNAL_LIMITS: Readonly<Record<SignalKind, readonly [number, number, number]>> = {
  rsrp: [-110, -100, -90],
  rsrq: [-20, -15, -10],
  sinr: [0, 5, 13],
  rssi: [-95, -85, -75],
  // Same as RSSI, which is 2 × CSQ - 113 dBm.
  csq: [9, 14, 19],
};

/** Units with the blank before them. */
export const SIGNAL_UNITS: Readonly<Record<SignalKind, string>> = {
  rsrp: ' dBm',
  rsrq: ' dB',
  sinr: ' dB',
  rssi: ' dBm',
  csq: '',
};
const GRADES = [
  ['bad', 'unusable'],
  ['warn', 'poor'],
  ['warn', 'fair'],
  ['good', 'good'],
] as const;
const BARS = [0, 1, 2, 3] as const;

/** Returns the grade of a value in words. */
export function gradeSignal(kind: SignalKind, value: number): string {
  return findGrade(kind, value)[1];
}

function findGrade(kind: SignalKind, value: number): (typeof GRADES)[number] {
  return GRADES[countBars(kind, value)] ?? GRADES[0];
}

function countBars(kind: SignalKind, value: number): number {
  return SIGNAL_LIMITS[kind].filter((limit) => value >= limit).length;
}

/** True if the values of a router are those of now: otherwise they are shown without a colour. */
export function hasCurrentValues({ state, isStale }: Pick<RouterSummary, 'state' | 'isStale'>): boolean {
  return state === 'up' && !isStale;
}

/** Returns the grade and the place within it, from 0 to 4: values of all kinds can be compared by it. */
export function rankSignal({ kind, value }: SignalSummary): number {
  const limits = SIGNAL_LIMITS[kind];
  const [grade, span] = [countBars(kind, value), 2 * (limits[2] - limits[0])];
  const [low, high] = [limits[grade - 1] ?? limits[0] - span, limits[grade] ?? limits[2] + span];
  return grade + Math.min(0.999, Math.max(0, (value - low) / (high - low)));
}

/** Renders a value with bars and its grade; without a colour if not current. `isGraded`: with the grade as visible text. */
export function renderSignal(
  { kind, value }: { readonly kind: SignalKind; readonly value: number },
  isCurrent = true,
  isGraded = false,
): Html {
  const grade = countBars(kind, value);
  const [tone, word] = findGrade(kind, value);
  const colour = isCurrent ? tone : 'soft';
  const number = String(Number(value.toFixed(1)));
  const [name, shown] = [kind.toUpperCase(), `${number}${SIGNAL_UNITS[kind]}`];
  const words = kind === 'csq' ? `CSQ ${number}` : shown;
  return html`<span class="signal ${colour}" title="${name} ${shown}: ${word}${isCurrent ? '' : ', when last read'}"><svg width="16" height="12" viewBox="0 0 16 12" role="img" aria-label="${word}">${BARS.map(
    (bar) =>
      html`<rect${bar > grade ? html` class="off"` : ''} x="${bar * 4}" y="${9 - bar * 3}" width="3" height="${3 + bar * 3}"/>`,
  )}</svg> ${isGraded ? `${isCurrent ? `${word} ` : ''}${words}` : shown}</span>`;
}

const HEIGHT = 14;
/** Class, vertical offset and height by letter of the poll results. */
const MARKS: Readonly<Record<string, readonly [tone: string, y: number, height: number]>> = {
  u: ['up', 9, 5],
  m: ['mixed', 4, 10],
  d: ['down', 0, 14],
  '-': ['unwatched', 6, 2],
};

/**
 * Renders poll results, one letter for each slot of `slotS` seconds, as a row of marks: low for up, full height for down, a thin line for
 * times that were not watched. What was before the first poll is empty. `gaps`: slots with log gaps, of which each is a mark.
 */
export function renderSparkline(results: string, slotS: number, gaps: readonly number[] = []): Html | string {
  const known = results.replaceAll('-', '').length;
  if (known === 0) return NOTHING;
  const up = results.replaceAll(/[^u]/g, '').length;
  const share = up === known ? '100' : ((up / known) * 100).toFixed(1);
  // The first slot may be incomplete, and so may the last three minutes: they are not counted as watched time.
  const watched = results.replace(/^-+/, '').length;
  const seconds = watched === results.length ? watched * slotS : (watched - 1) * slotS - POINT_S;
  const span = seconds > 0 ? `last ${renderLength(seconds)}` : 'time since the first poll';
  const unwatched = (watched - known) * slotS;
  return renderBand(
    results,
    `${share} % of the ${span} without a failed poll${unwatched > 0 ? `, ${renderLength(unwatched)} not watched` : ''}${gaps.length > 0 ? `, ${renderMany(gaps.length, 'log gap')}` : ''}`,
    gaps,
  );
}

/** Renders slots of time as {@link renderSparkline}; `words` say what they show. */
export function renderBand(results: string, words: string, gaps: readonly number[] = []): Html {
  const watched = results.replace(/^-+/, '').length;
  const paths: Record<string, string> = {};
  let x = 0;
  for (const [run] of results.matchAll(/(.)\1*/g)) {
    const letter = run[0] ?? '';
    const mark = MARKS[letter];
    paths[letter] ??= '';
    if (mark && x >= results.length - watched) {
      paths[letter] += `M${x} ${mark[1]}h${run.length}v${mark[2]}h-${run.length}z`;
    }
    x += run.length;
  }
  return html`<svg class="spark" role="img" aria-label="${words}" viewBox="0 0 ${results.length} ${HEIGHT}" preserveAspectRatio="none"><title>${words}</title>${Object.entries(
    paths,
  ).map(([letter, path]) =>
    MARKS[letter] ? html`<path class="${MARKS[letter][0]}" d="${path}"/>` : '',
  )}${gaps.map((slot) => html`<path class="gap" d="M${slot} 0h1v${HEIGHT}h-1z"/>`)}</svg>`;
}

/** Renders the step, and the resource if there is one. */
export function renderStep({ step, resource }: PollFault): string {
  return resource === null ? step : `${step} ${toShown(resource, 120)}`;
}

/** Display names of the router states. */
export const STATE_NAMES: Readonly<Record<RouterState, string>> = {
  up: 'up',
  down: 'down',
  unknown: 'not polled yet',
  budget: 'byte budget used up',
  paused: 'paused',
  retired: 'retired',
};

/** Pages always show the word, too. */
export const STATE_TONES: Readonly<Record<RouterState, string>> = {
  up: 'good',
  down: 'bad',
  unknown: 'soft',
  budget: 'warn',
  paused: 'soft',
  retired: 'soft',
};

/** Returns the colour of the state. */
export function toneState({ state, fault }: RouterSummary): string {
  return state === 'up' && fault !== null ? 'warn' : STATE_TONES[state];
}

/** Renders the state, since when (`spell`), and whether values are stale or the router is in maintenance. */
export function renderState(router: RouterSummary, spell: Html | string = ''): Html {
  const { state, isStale, fault, lifecycle } = router;
  const stale = isStale ? html`, <span class="warn">stale</span>` : '';
  const isDegraded = state === 'up' && fault !== null;
  return html`<span class="state ${toneState(router)}">${isDegraded ? 'degraded' : STATE_NAMES[state]}</span>${spell}${stale}${lifecycle.state === 'maintenance' ? html`, <span class="warn">maintenance</span>` : ''}`;
}

/** Renders at most `max` labels as `name=value`, and the number of the others. */
export function renderLabels(labels: RouterSummary['labels'], max: number): string {
  const all = Object.entries(labels);
  const shown = all.slice(0, max).map(([label, value]) => `${label}=${toShown(value, 60)}`);
  if (all.length === 0) return NOTHING;
  return all.length > max ? `${shown.join(', ')}, and ${all.length - max} more` : shown.join(', ');
}
