import type { SignalSummary } from '../api/routers.ts';
import { type Html, html } from './html.ts';

/** Kinds of values that describe the reception of a modem. */
export type SignalKind = SignalSummary['kind'] | 'rsrq' | 'sinr';

/** Limits between unusable, poor, fair and good; the first one is that of the alert `RouterSignalPoor`. */
export const SIGNAL_LIMITS: Readonly<Record<SignalKind, readonly [number, number, number]>> = {
  rsrp: [-110, -100, -90],
  rsrq: [-20, -15, -10],
  sinr: [0, 5, 13],
  rssi: [-95, -85, -75],
  // The same as of RSSI, which is 2 × CSQ - 113 dBm.
  csq: [9, 14, 19],
};

const UNITS: Readonly<Record<SignalKind, string>> = { rsrp: ' dBm', rsrq: ' dB', sinr: ' dB', rssi: ' dBm', csq: '' };
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

/** Number of limits that a value reaches. */
function countBars(kind: SignalKind, value: number): number {
  return SIGNAL_LIMITS[kind].filter((limit) => value >= limit).length;
}

/**
 * Renders a value with bars; its grade is told in words, too. A value that is not current has no colour. `isNamed`: with the
 * kind in place of its unit.
 */
export function renderSignal(
  { kind, value }: { readonly kind: SignalKind; readonly value: number },
  isCurrent = true,
  isNamed = false,
): Html {
  const grade = countBars(kind, value);
  const [tone, word] = findGrade(kind, value);
  const colour = isCurrent ? tone : 'soft';
  const number = String(Number(value.toFixed(1)));
  const [name, shown] = [kind.toUpperCase(), `${number}${UNITS[kind]}`];
  return html`<span class="signal ${colour}" title="${name} ${shown}: ${word}${isCurrent ? '' : ', when last read'}"><svg width="16" height="12" viewBox="0 0 16 12" role="img" aria-label="${word}">${BARS.map(
    (bar) =>
      html`<rect${bar > grade ? html` class="off"` : ''} x="${bar * 4}" y="${9 - bar * 3}" width="3" height="${3 + bar * 3}"/>`,
  )}</svg> ${isNamed ? `${name} ${number}` : shown}</span>`;
}
