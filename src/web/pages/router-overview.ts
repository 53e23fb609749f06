import { renderMany } from '../../base/index.ts';
import type { FamilyValues, RouterDetail } from '../api/router-detail.ts';
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
  type SignalKind,
} from './router-facts.ts';
import { findCurrent } from './value-table.ts';

type Sample = FamilyValues['samples'][number] &
  Pick<FamilyValues, 'ageSeconds'> & {
    /** True if the router is up, and the resource could be read last. */
    readonly isCurrent: boolean;
  };

/** Families of the shipped module for modems. */
const SIGNALS: readonly (readonly [kind: SignalKind, family: string])[] = [
  ['rsrp', 'router_modem_rsrp_dbm'],
  ['rsrq', 'router_modem_rsrq_db'],
  ['sinr', 'router_modem_sinr_db'],
  ['rssi', 'router_modem_rssi_dbm'],
  ['csq', 'router_modem_signal_csq'],
];
const MODEMS_MAX = 8;

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
  const lost = gaps === 0 ? 'no gaps' : html`<strong class="warn">${renderMany(gaps, 'gap')}</strong>`;
  if (logsPausedUntil !== null) {
    return [html`<span class="warn">paused</span>`, html`by the byte budget, until ${renderMoment(logsPausedUntil)}`];
  }
  return [`${renderLength(logLagSeconds)} behind`, html`${renderMany(logs.length, 'log')}, ${lost}`];
}

const LETTERS = { up: 'u', down: 'd', mixed: 'm' } as const;
/** A chart of fewer points says nothing. */
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
    render: renderLength,
  },
  lag: {
    title: 'Log lag',
    lines: [{ name: '', pick: (point) => point.logLagSeconds }],
    render: renderLength,
  },
} satisfies Record<string, HistorySeries>;

/**
 * Renders when the router was up, and charts. Before a range is full, they show the time since the first poll, one hour at least: no chart
 * claims more.
 */
export function renderHours(
  { lastHours, recentGaps, device: { signal } }: RouterDetail,
  view: string,
  range: string,
  charts: readonly ('signal' | keyof typeof CHARTS)[],
): Html | string {
  const first = lastHours.findIndex(({ result }) => result !== null);
  if (first < 0) return '';
  const start = lastHours.length - (RANGES[range] ?? 0);
  const points = lastHours.slice(Math.max(0, start, Math.min(first - 1, lastHours.length - POINTS_MIN)));
  const watchedS = Math.min(points.length, lastHours.length - first) * POINT_S;
  const links = Object.keys(RANGES).map(
    (one) =>
      html` <a href="?view=${view}&amp;range=${one}"${one === range ? html` aria-current="true"` : ''}>${one.replace('h', ' h')}</a>`,
  );
  const kind = signal?.kind ?? 'csq';
  const signalSeries: HistorySeries = {
    title: `Signal (${kind.toUpperCase()})`,
    lines: [{ name: '', pick: (point) => point.signal }],
    range: ({ signalMin, signalMax }) => [signalMin, signalMax],
    render: (value) => `${value}${SIGNAL_UNITS[kind]}`,
    isZoomed: true,
    grade: (value) => gradeSignal(kind, value),
    limits: SIGNAL_LIMITS[kind],
  };
  const results = points.map(({ result }) => (result ? LETTERS[result] : '-')).join('');
  const startMs = Date.parse(points[0]?.at ?? '');
  const gaps = recentGaps
    .map(({ until, at }) => Math.floor((Date.parse(until ?? at) - startMs) / 1000 / POINT_S))
    .filter((slot) => slot >= 0 && slot < points.length);
  return html`<div class="titled"><h2>Last ${renderLength(watchedS)}</h2>
<p class="ranges">Range:${links}</p></div>
<figure class="up-down">${renderSparkline(results, POINT_S, gaps)}<figcaption>Up or down, in steps of 3 min${/[^-]-/.test(results) ? '; thin line: not watched' : ''}${gaps.length > 0 ? '; vertical line: log lines are missing' : ''}</figcaption></figure>
<div class="plots wide">${charts.map((name) => renderHistory(name === 'signal' ? signalSeries : CHARTS[name], points))}</div>`;
}

/** Renders each modem: its network, card and signal. */
export function renderModems(router: RouterDetail): Html | string {
  const find = (family: string) => findSamples(router, family);
  const modems = [
    ...new Set(
      ['router_modem_info', 'router_modem_online', ...SIGNALS.map(([, family]) => family)].flatMap((family) =>
        find(family).map(({ labels }) => labels['modem'] ?? ''),
      ),
    ),
  ];
  const of = (family: string, modem: string) => find(family).find(({ labels }) => (labels['modem'] ?? '') === modem);
  if (modems.length === 0) return '';
  return html`<div class="overview">${modems.slice(0, MODEMS_MAX).map((modem) => {
    const info = of('router_modem_info', modem);
    const technology = of('router_modem_access_technology', modem);
    const card = of('router_modem_used_sim', modem);
    const online = of('router_modem_online', modem);
    const works = of('router_modem_sim_ok', modem);
    const attempts = of('router_modem_pin_retries', modem);
    const signals = SIGNALS.flatMap(([kind, family]) => {
      const sample = of(family, modem);
      return sample ? [{ kind, sample }] : [];
    });
    const operator = info?.labels['provider_name'] ?? info?.labels['provider'];
    return html`<section><h2>Modem <bdi>${toShown(modem, 60)}</bdi></h2>
<dl>${renderFact('Operator', operator, info)}${renderFact('Technology', technology?.labels['access_technology'], technology)}${renderFact('SIM', card?.labels['used_sim'], card)}${
      works ? html`<dt>SIM works</dt><dd>${renderGood(works, 'yes', 'no')}${renderAge(works)}</dd>` : ''
    }${renderFact('PIN attempts left', attempts && String(attempts.value), attempts)}${
      online ? html`<dt>Data session</dt><dd>${renderGood(online, 'online', 'offline')}${renderAge(online)}</dd>` : ''
    }${signals.map(
      ({ kind, sample }) =>
        html`<dt>${kind.toUpperCase()}</dt><dd>${renderSignal({ kind, value: sample.value }, sample.isCurrent)}${renderAge(sample)}</dd>`,
    )}</dl></section>
`;
  })}</div>`;
}

function renderGood({ value, isCurrent }: Sample, good: string, bad: string): Html {
  const word = value === 1 ? good : bad;
  if (!isCurrent) return html`<span class="soft">last ${word}</span>`;
  return value === 1 ? html`<span class="good">${word}</span>` : html`<strong class="warn">${word}</strong>`;
}

/** Of any module, those of users included. */
function listTemperatures(router: RouterDetail): readonly string[] {
  const families = router.values.flatMap((module) => module.families.map(({ name }) => name));
  return [...new Set(families)].filter((name) => name.endsWith('_temperature_celsius'));
}

function renderFact(title: string, value: string | null | undefined, sample: Sample | undefined): Html | string {
  return value === null || value === undefined || value === ''
    ? ''
    : html`<dt>${title}</dt><dd${sample?.isCurrent === false ? html` class="soft"` : ''}><bdi>${toShown(value, 120)}</bdi>${renderAge(sample)}</dd>`;
}

/** The head of the page has the age of current values. */
function renderAge(sample: Sample | undefined): Html | string {
  if (sample === undefined || sample.isCurrent || sample.ageSeconds === null) return '';
  return html` <span class="soft">· ${renderLength(Math.round(sample.ageSeconds))} ago</span>`;
}

function findSamples(router: RouterDetail, family: string): readonly Sample[] {
  const isCurrent = findCurrent(router);
  return router.values.flatMap(({ families }) =>
    families
      .filter(({ name }) => name === family)
      .flatMap(({ samples, ageSeconds, resource }) =>
        samples.map((sample) => ({ ...sample, ageSeconds, isCurrent: isCurrent(resource) })),
      ),
  );
}
