import { renderMany } from '../../base/index.ts';
import type { FamilyValues, InterfaceRate, RouterDetail } from '../api/router-detail.ts';
import { type Html, html, renderBitRate, renderLength, renderMoment, toShown } from './html.ts';
import { describeUse } from './money.ts';
import { POINT_S, renderHistory } from './plots.ts';
import {
  gradeSignal,
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

/** Renders the tiles of a router, when it was up, and charts of the last hours. */
export function renderOverview(router: RouterDetail): Html {
  const renderTile = (title: string, view: string, value: Html | string, note: Html | string = '') =>
    value === ''
      ? ''
      : html`<li><a href="?view=${view}">${title}</a><strong${router.state === 'up' ? '' : html` class="soft"`}>${value}</strong><span class="soft">${note}</span></li>
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
${renderHours(router)}`;
}

type Tile = readonly [value: Html | string, note?: Html | string];

function describeSignal({ device, state }: RouterDetail): Tile {
  const { signal, operator, technology } = device;
  const network = [operator, technology].flatMap((text) => (text === null ? [] : [toShown(text, 60)])).join(' · ');
  return signal
    ? [renderSignal(signal, state === 'up'), `${signal.kind.toUpperCase()}${network && `, ${network}`}`]
    : [network];
}

function describeWan(router: RouterDetail): Tile {
  const members = findSamples(router, 'router_wan_chain_member_online');
  const online = members.filter(({ value }) => value === 1).length;
  const note = members.length === 0 ? '' : `${online} of ${members.length} members online`;
  return [toShown(router.device.wan ?? '', 60), note];
}

/** Of the interface of the WAN chain, else of the busiest one. */
function describeTraffic(router: RouterDetail): Tile {
  const names = findSamples(router, 'router_wan_chain_member_online').flatMap(({ labels, value }) =>
    value === 1 ? [labels['interface']] : [],
  );
  const toTotal = (rate: InterfaceRate) => (rate.receiveBytesPerSecond ?? 0) + (rate.transmitBytesPerSecond ?? 0);
  const [busiest] = router.interfaceRates.toSorted((a, b) => toTotal(b) - toTotal(a));
  const rate = router.interfaceRates.find((one) => names.includes(one.interface)) ?? busiest;
  if (!rate) return [''];
  const { receiveBytesPerSecond: received, transmitBytesPerSecond: sent } = rate;
  return [`${renderBitRate(received)} in`, html`${renderBitRate(sent)} out, <bdi>${toShown(rate.interface, 60)}</bdi>`];
}

function describeSupply(router: RouterDetail): Tile {
  const volts = findSamples(router, 'router_supply_volts').map(({ value }) => `${Number(value.toFixed(1))} V`);
  const degrees = listTemperatures(router).flatMap((name) => findSamples(router, name));
  const warmest = Math.max(...degrees.map(({ value }) => value));
  const temperature = degrees.length === 0 ? '' : `${Number(warmest.toFixed(1))} °C at most`;
  return volts.length === 0 ? [temperature] : [volts.slice(0, 2).join(', '), temperature];
}

const HOUR_S = 3600;

function describeUptime({ device: { uptimeSeconds }, state }: RouterDetail): Tile {
  if (uptimeSeconds === null) return [''];
  const text = renderLength(uptimeSeconds);
  return state === 'up' && uptimeSeconds < HOUR_S
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

/** The time watched so far, half an hour at least: no chart claims more. */
function renderHours({ lastHours, device: { signal } }: RouterDetail): Html | string {
  const first = lastHours.findIndex(({ result }) => result !== null);
  if (first < 0) return '';
  const points = lastHours.slice(Math.max(0, Math.min(first - 1, lastHours.length - POINTS_MIN)));
  const kind = signal?.kind ?? 'csq';
  const charts = [
    renderHistory(
      {
        title: `Signal (${kind.toUpperCase()})`,
        pick: (point) => point.signal,
        range: ({ signalMin, signalMax }) => [signalMin, signalMax],
        render: (value) => `${value}${SIGNAL_UNITS[kind]}`,
        isFromZero: false,
        grade: (value) => gradeSignal(kind, value),
        limits: SIGNAL_LIMITS[kind],
      },
      points,
    ),
    renderHistory(
      { title: 'Response time', pick: (point) => point.responseSeconds, render: renderLength, isFromZero: true },
      points,
    ),
    renderHistory(
      { title: 'Log lag', pick: (point) => point.logLagSeconds, render: renderLength, isFromZero: true },
      points,
    ),
  ];
  return html`<h2>Last ${renderLength((lastHours.length - first) * POINT_S)}</h2>
<figure class="up-down">${renderSparkline(points.map(({ result }) => (result ? LETTERS[result] : '-')).join(''))}<figcaption>Up or down, in steps of 3 min</figcaption></figure>
<div class="plots wide">${charts}</div>`;
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
