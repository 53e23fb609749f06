import type { FamilyValues, RouterDetail } from '../api/router-detail.ts';
import { type Html, html, toShown } from './html.ts';
import { NOTHING, renderLength } from './quantities.ts';
import { renderSignal, type SignalKind } from './signal.ts';

type Sample = FamilyValues['samples'][number] & Pick<FamilyValues, 'ageSeconds'>;

/** Families of the shipped module about a modem, by the kind of value. */
const SIGNALS: readonly (readonly [kind: SignalKind, family: string])[] = [
  ['rsrp', 'router_modem_rsrp_dbm'],
  ['rsrq', 'router_modem_rsrq_db'],
  ['sinr', 'router_modem_sinr_db'],
  ['rssi', 'router_modem_rssi_dbm'],
  ['csq', 'router_modem_signal_csq'],
];
const MODEMS_MAX = 8;
const MEMBERS_MAX = 16;

/** Renders what the router is, how its modems receive, and which WAN chain it uses. What it does not report is left out. */
export function renderOverview(router: RouterDetail): Html {
  const { device, firmware, serial, state } = router;
  const facts = [
    renderFact('Model', device.model, findAge(router, 'router_device_info', 'router_board_info')),
    renderFact('Serial number', serial, findAge(router, 'router_board_info')),
    renderFact('Firmware', firmware, findAge(router, 'router_board_info')),
    renderFact('Location', device.location, findAge(router, 'router_location_info')),
    renderFact(
      'Uptime',
      device.uptimeSeconds === null ? null : renderLength(device.uptimeSeconds),
      findAge(router, 'router_uptime_seconds'),
    ),
    renderReadings(router, 'Supply', 'router_supply_volts', 'V'),
    ...renderTemperatures(router),
  ].filter((fact) => fact !== '');
  return html`<div class="overview">
${facts.length === 0 ? '' : html`<section><h2>Device</h2>\n<dl>${facts}</dl></section>`}
${renderModems(router, state === 'up')}
${renderWan(router, state === 'up')}
</div>`;
}

function renderModems(router: RouterDetail, isCurrent: boolean): Html | string {
  const find = (family: string) => findSamples(router, family);
  const modems = [
    ...new Set(
      ['router_modem_info', 'router_modem_online', ...SIGNALS.map(([, family]) => family)].flatMap((family) =>
        find(family).map(({ labels }) => labels['modem'] ?? ''),
      ),
    ),
  ];
  const of = (family: string, modem: string) => find(family).find(({ labels }) => (labels['modem'] ?? '') === modem);
  return html`${modems.slice(0, MODEMS_MAX).map((modem) => {
    const info = of('router_modem_info', modem);
    const online = of('router_modem_online', modem);
    const signals = SIGNALS.flatMap(([kind, family]) => {
      const sample = of(family, modem);
      return sample ? [{ kind, sample }] : [];
    });
    const operator = info?.labels['provider_name'] ?? info?.labels['provider'];
    return html`<section><h2>Modem <bdi>${toShown(modem, 60)}</bdi></h2>
<dl>${renderFact('Operator', operator, info?.ageSeconds)}${renderFact('Technology', info?.labels['access_technology'], info?.ageSeconds)}${renderFact('SIM', info?.labels['used_sim'], info?.ageSeconds)}${
      online
        ? html`<dt>Data session</dt><dd>${renderOnline(online.value === 1, isCurrent)}${renderAge(online)}</dd>`
        : ''
    }${signals.map(
      ({ kind, sample }) =>
        html`<dt>${kind.toUpperCase()}</dt><dd>${renderSignal({ kind, value: sample.value }, isCurrent)}${renderAge(sample)}</dd>`,
    )}</dl></section>
`;
  })}`;
}

function renderWan(router: RouterDetail, isCurrent: boolean): Html | string {
  const [active] = findSamples(router, 'router_wan_active_info');
  if (!active) return '';
  const members = findSamples(router, 'router_wan_chain_member_online').slice(0, MEMBERS_MAX);
  return html`<section><h2>WAN</h2>
<dl><dt>Chain in use</dt><dd><bdi>${toShown(active.labels['chain'] ?? NOTHING)}</bdi>${renderAge(active)}</dd>${members.map(
    ({ labels, value, ageSeconds }) =>
      html`<dt><bdi>${toShown(labels['interface'] ?? '')}</bdi></dt><dd>${renderOnline(value === 1, isCurrent)}${renderAge({ ageSeconds })}</dd>`,
  )}</dl></section>`;
}

/** `isCurrent`: the router is up. Of one that is down, this was the last value, and has no colour. */
function renderOnline(isOnline: boolean, isCurrent: boolean): Html {
  const word = isOnline ? 'online' : 'offline';
  if (!isCurrent) return html`<span class="soft">last ${word}</span>`;
  return isOnline ? html`<span class="good">${word}</span>` : html`<strong class="warn">${word}</strong>`;
}

/** Readings of one fact: a few, as in "24.1 V (power2 input 1)". */
const READINGS_MAX = 4;

function renderReadings(router: RouterDetail, title: string, family: string, unit: string): Html | string {
  const samples = findSamples(router, family);
  const texts = samples.slice(0, READINGS_MAX).map(({ labels, value }) => {
    // The resource says more than the slot.
    const names = Object.entries(labels).flatMap(([key, name]) =>
      name === '' || key === 'slot' ? [] : [key === 'input' ? `input ${name}` : name],
    );
    return `${Number(value.toFixed(1))} ${unit}${names.length === 0 ? '' : ` (${names.join(' ')})`}`;
  });
  return renderFact(title, texts.join(', '), samples[0]?.ageSeconds ?? null);
}

function renderTemperatures(router: RouterDetail): readonly (Html | string)[] {
  // Whatever module reports one, also one of the user.
  const families = router.values.flatMap((module) => module.families.map(({ name }) => name));
  const found = [...new Set(families)].filter((name) => name.endsWith('_temperature_celsius')).slice(0, READINGS_MAX);
  return found.map((name) => renderReadings(router, toTitle(name), name, '°C'));
}

/** `router_modem_temperature_celsius`: `Temperature (modem)`. */
function toTitle(family: string): string {
  const of = family
    .slice(0, -'_temperature_celsius'.length)
    .replace(/^router_?/, '')
    .replaceAll('_', ' ');
  return of === '' ? 'Temperature' : `Temperature (${of})`;
}

function findAge(router: RouterDetail, ...families: readonly string[]): number | null {
  for (const family of families) {
    const [sample] = findSamples(router, family);
    if (sample) return sample.ageSeconds;
  }
  return null;
}

function renderFact(title: string, value: string | null | undefined, ageSeconds: number | null = null): Html | string {
  return value === null || value === undefined || value === ''
    ? ''
    : html`<dt>${title}</dt><dd><bdi>${toShown(value, 120)}</bdi>${renderAge({ ageSeconds })}</dd>`;
}

/** How old a value is, set off from it. */
function renderAge({ ageSeconds }: Pick<Sample, 'ageSeconds'>): Html | string {
  return ageSeconds === null ? '' : html` <span class="soft">· ${renderLength(Math.round(ageSeconds))} ago</span>`;
}

function findSamples({ values }: RouterDetail, family: string): readonly Sample[] {
  return values.flatMap(({ families }) =>
    families
      .filter(({ name }) => name === family)
      .flatMap(({ samples, ageSeconds }) => samples.map((sample) => ({ ...sample, ageSeconds }))),
  );
}
