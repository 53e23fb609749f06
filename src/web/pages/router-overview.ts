import { renderMany } from '../../base/index.ts';
import type { FamilyValues, HistoryPoint, RouterDetail } from '../api/router-detail.ts';
import type { SignalSummary } from '../api/routers.ts';
import { type Html, html, renderBitRate, renderLength, renderMoment, toShown } from './html.ts';
import { describeUse } from './money.ts';
import { type HistorySeries, POINT_S, renderHistory } from './plots.ts';
import {
  gradeSignal,
  hasCurrentValues,
  renderSignal,
  renderSparkline,
  SIGNAL_LIMITS,
  SIGNAL_UNITS,
} from './router-facts.ts';
import { renderValues } from './value-table.ts';

/** Renders the tiles of a router, when it was up, and charts of a {@link parseRange}. */
export function renderOverview(router: RouterDetail, range: string): Html {
  const renderTile = (title: string, view: string, value: Html | string, note: Html | string = '') =>
    value === ''
      ? ''
      : html`<li><a href="?view=${view}">${title}</a><strong${hasCurrentValues(router) ? '' : html` class="expired"`}>${value}</strong><span class="soft">${note}</span></li>
`;
  const tiles = [
    renderTile('Signal', 'modem', ...describeSignal(router)),
    renderTile('WAN', 'network', ...describeWan(router)),
    renderTile('Traffic', 'network', ...describeTraffic(router)),
    renderTile('Supply', 'device', ...describeSupply(router)),
    renderTile('Uptime', 'device', ...describeUptime(router)),
    renderTile('Data', 'agent', ...describeUse(router)),
    renderTile('Logs', 'positions', ...describeLogs(router)),
  ];
  return html`<ul class="tiles">${tiles}</ul>
${renderHours(router, 'overview', range, ['signal', 'traffic', 'response'])}`;
}

type Tile = readonly [value: Html | string, note?: Html | string];

function describeSignal(router: RouterDetail): Tile {
  const { signal, operator, technology } = router.device;
  const network = [operator, technology].flatMap((text) => (text === null ? [] : [toShown(text, 60)])).join(' · ');
  return signal
    ? [renderSignal(signal, hasCurrentValues(router)), `${signal.kind.toUpperCase()}${network && `, ${network}`}`]
    : [network];
}

function describeWan(router: RouterDetail): Tile {
  const members = findSamples(router, 'router_wan_chain_member_online');
  const online = members.filter(({ value }) => value === 1).length;
  const note = members.length === 0 ? '' : `${online} of ${members.length} members online`;
  return [toShown(router.device.wan ?? '', 60), note];
}

function describeTraffic({ traffic }: RouterDetail): Tile {
  if (!traffic) return [''];
  const { interface: name, receiveBytesPerSecond: received, transmitBytesPerSecond: sent } = traffic;
  return [`${renderBitRate(received)} in`, html`${renderBitRate(sent)} out, <bdi>${toShown(name, 60)}</bdi>`];
}

function describeSupply(router: RouterDetail): Tile {
  const volts = findSamples(router, 'router_supply_volts').map(({ value }) => `${Number(value.toFixed(1))} V`);
  const degrees = listTemperatures(router).flatMap((name) => findSamples(router, name));
  const warmest = Math.max(...degrees.map(({ value }) => value));
  const temperature = degrees.length === 0 ? '' : `${Number(warmest.toFixed(1))} °C at most`;
  return volts.length === 0 ? [temperature] : [volts.slice(0, 2).join(', '), temperature];
}

const HOUR_S = 3600;

function describeUptime(router: RouterDetail): Tile {
  const { uptimeSeconds } = router.device;
  if (uptimeSeconds === null) return [''];
  const text = renderLength(uptimeSeconds);
  return hasCurrentValues(router) && uptimeSeconds < HOUR_S
    ? [html`<span class="warn">${text}</span>`, 'restarted within the last hour']
    : [text];
}

function describeLogs({ logs, logLagSeconds, bytes: { logsPausedUntil } }: RouterDetail): Tile {
  if (logs.length === 0) return [''];
  const gaps = logs.reduce((sum, log) => sum + log.gaps, 0);
  const lost =
    gaps === 0 ? 'no gaps since the agent started' : html`<strong class="warn">${renderMany(gaps, 'gap')}</strong>`;
  if (logsPausedUntil !== null) {
    return [html`<span class="warn">paused</span>`, html`by the byte budget, until ${renderMoment(logsPausedUntil)}`];
  }
  return [`${renderLength(logLagSeconds)} behind`, html`${renderMany(logs.length, 'log')}, ${lost}`];
}

const LETTERS = { up: 'u', down: 'd', mixed: 'm' } as const;
/** One hour: a chart of fewer points says nothing. */
const POINTS_MIN = 20;
/** Points by time range. */
const RANGES: Readonly<Record<string, number>> = { '1h': 20, '6h': 120, '24h': 480 };

/** Returns a time range of charts as the address of a page names it: `1h`, `6h` (default) or `24h`. */
export function parseRange(text: string | undefined): string {
  return text !== undefined && Object.hasOwn(RANGES, text) ? text : '6h';
}

const toBitRate = (bits: number) => renderBitRate(bits / 8);
const CHARTS = {
  traffic: {
    title: 'Traffic',
    lines: [
      { name: 'received', pick: (point) => point.receiveBitsPerSecond },
      { name: 'sent', pick: (point) => point.transmitBitsPerSecond },
    ],
    render: toBitRate,
  },
  response: {
    title: 'Response time',
    lines: [{ name: '', pick: (point) => point.responseSeconds }],
    // A router nearby answers within a few milliseconds.
    render: (value) => (value > 0 && value < 0.1 ? `${Number((value * 1000).toPrecision(2))} ms` : renderLength(value)),
  },
  lag: {
    title: 'Log lag',
    lines: [{ name: '', pick: (point) => point.logLagSeconds }],
    render: renderLength,
  },
} satisfies Record<string, HistorySeries>;

/**
 * Returns the first point that was watched, negative without one, and the first of a range: before it is full, charts show the time since
 * the first poll, one hour at least.
 */
function findStart(lastHours: readonly HistoryPoint[], range: string): readonly [watched: number, shown: number] {
  const first = lastHours.findIndex(({ result }) => result !== null);
  const { length } = lastHours;
  return [first, Math.max(0, length - (RANGES[range] ?? 0), Math.min(first - 1, length - POINTS_MIN))];
}

function renderSignalHistory(signal: SignalSummary | null, points: readonly HistoryPoint[]): Html | string {
  const kind = signal?.kind ?? 'csq';
  const series: HistorySeries = {
    title: `Signal (${kind.toUpperCase()})`,
    lines: [{ name: '', pick: (point) => point.signal }],
    range: ({ signalMin, signalMax }) => [signalMin, signalMax],
    render: (value) => `${value}${SIGNAL_UNITS[kind]}`,
    isZoomed: true,
    grade: (value) => gradeSignal(kind, value),
    limits: SIGNAL_LIMITS[kind],
  };
  return renderHistory(series, points);
}

/** Renders when the router was up, and charts. No chart claims more time than was watched. */
export function renderHours(
  { lastHours, recentGaps, device: { signal } }: RouterDetail,
  view: string,
  range: string,
  charts: readonly ('signal' | keyof typeof CHARTS)[],
): Html | string {
  const [first, start] = findStart(lastHours, range);
  if (first < 0) return '';
  const points = lastHours.slice(start);
  const watchedS = Math.min(points.length, lastHours.length - first) * POINT_S;
  const links = Object.keys(RANGES).map(
    (one) =>
      html` <a href="?view=${view}&amp;range=${one}"${one === range ? html` aria-current="true"` : ''}>${one.replace('h', ' h')}</a>`,
  );
  const results = points.map(({ result }) => (result ? LETTERS[result] : '-')).join('');
  const startMs = Date.parse(points[0]?.at ?? '');
  const gaps = recentGaps
    .map(({ until, at }) => Math.floor((Date.parse(until ?? at) - startMs) / 1000 / POINT_S))
    .filter((slot) => slot >= 0 && slot < points.length);
  return html`<div class="titled"><h2>Last ${watchedS < HOUR_S ? `1 h, watched for ${renderLength(watchedS)}` : renderLength(watchedS)}</h2>
<p class="ranges">Range:${links}</p></div>
<figure class="up-down">${renderSparkline(results, POINT_S, gaps)}<figcaption>Up or down, in steps of 3 min${/[^-]-/.test(results) ? '; thin line: not watched' : ''}${gaps.length > 0 ? '; vertical line: log lines are missing' : ''}</figcaption></figure>
<div class="plots wide">${charts.map((name) => (name === 'signal' ? renderSignalHistory(signal, points) : renderHistory(CHARTS[name], points)))}</div>`;
}

/** Renders each modem with the chart of its signal and its values. */
export function renderModems(router: RouterDetail, range: string): Html {
  const { modems, lastHours, device } = router;
  const [, start] = findStart(lastHours, range);
  const charts = modems.map(({ modem, signal, lastHours: own }) => {
    const chart = renderSignalHistory(signal ?? device.signal, (own ?? lastHours).slice(start));
    return [toShown(modem), html`<div class="plots wide">${chart}</div>`] as const;
  });
  return html`${device.signal ? renderHours(router, 'modem', range, modems.length === 0 ? ['signal'] : []) : ''}
${renderValues(router, 'modem', new Map(charts))}`;
}

/** Of any module, those of users included. */
function listTemperatures(router: RouterDetail): readonly string[] {
  const families = router.values.flatMap((module) => module.families.map(({ name }) => name));
  return [...new Set(families)].filter((name) => name.endsWith('_temperature_celsius'));
}

function findSamples(router: RouterDetail, family: string): FamilyValues['samples'] {
  const families = router.values.flatMap((module) => module.families);
  return families.filter(({ name }) => name === family).flatMap(({ samples }) => samples);
}
