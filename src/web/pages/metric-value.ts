import { type Html, html } from './html.ts';
import { renderBytes, renderCount, renderLength, renderMoment } from './quantities.ts';

/** Units by the end of a name, as the naming rules of metrics have it. The first that fits holds. */
const UNITS: readonly (readonly [end: RegExp, render: (value: number) => Html | string])[] = [
  [/(_timestamp_seconds|_modified|_last_activated)$/, (value) => renderMoment(toTime(value))],
  [/_bytes_per_second$/, (value) => `${renderBytes(value)}/s`],
  [/_bytes(_total)?$/, renderBytes],
  [/_seconds(_total)?$/, renderLength],
  [/_ratio$/, (value) => `${round(value * 100)} %`],
  [/_celsius$/, (value) => `${round(value)} °C`],
  [/_volts$/, (value) => `${round(value)} V`],
  [/_amperes$/, (value) => `${round(value)} A`],
  [/_dbm$/, (value) => `${round(value)} dBm`],
  [/_db$/, (value) => `${round(value)} dB`],
  [/_watts$/, (value) => `${round(value)} W`],
  [/_hertz$/, (value) => `${round(value)} Hz`],
  [/_meters$/, (value) => `${round(value)} m`],
  [/_total$/, renderCount],
];

/** Names of which a "no" is a fault; of others, such as whether a port has a link, it may be as it should be. */
const FAULT_IF_NOT = /_(?:ok|online)$/;

/** Renders the value of a metric with its unit, which is the end of its name; a yes or no where its help says "Whether". */
export function renderMetricValue(name: string, help: string, value: number): Html | string {
  if (!Number.isFinite(value)) return String(value);
  if (help.startsWith('Whether ') && (value === 0 || value === 1))
    return value === 1 ? 'yes' : FAULT_IF_NOT.test(name) ? html`<strong class="warn">no</strong>` : 'no';
  const unit = UNITS.find(([end]) => end.test(name));
  return unit ? unit[1](value) : String(round(value));
}

/** Three digits after the point at most. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function toTime(seconds: number): string | null {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
