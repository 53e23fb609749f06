import type { FamilyValues, RouterDetail } from '../api-types.ts';
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
    renderFact('Model', device.model),
    renderFact('Serial number', serial),
    renderFact('Firmware', firmware),
    renderFact('Location', device.location),
    renderFact('Uptime', device.uptimeSeconds === null ? null : renderLength(device.uptimeSeconds)),
  ].filter((fact) => fact !== '');
  return html`<div class="overview">
${facts.length === 0 ? '' : html`<section><h2>Device</h2>\n<dl>${facts}</dl></section>`}
${renderModems(router, state === 'up')}
${renderWan(router)}
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
<dl>${renderFact('Operator', operator)}${renderFact('Technology', info?.labels['access_technology'])}${renderFact('SIM', info?.labels['used_sim'])}${
      online
        ? html`<dt>Data session</dt><dd>${online.value === 1 ? 'online' : html`<strong class="warn">offline</strong>`}</dd>`
        : ''
    }${signals.map(
      ({ kind, sample }) =>
        html`<dt>${kind.toUpperCase()}</dt><dd>${renderSignal({ kind, value: sample.value }, isCurrent)} <span class="soft">${renderAge(sample)}</span></dd>`,
    )}</dl></section>
`;
  })}`;
}

function renderWan(router: RouterDetail): Html | string {
  const [active] = findSamples(router, 'router_wan_active_info');
  if (!active) return '';
  const members = findSamples(router, 'router_wan_chain_member_online').slice(0, MEMBERS_MAX);
  return html`<section><h2>WAN</h2>
<dl><dt>Chain in use</dt><dd><bdi>${toShown(active.labels['chain'] ?? NOTHING)}</bdi> <span class="soft">${renderAge(active)}</span></dd>${members.map(
    ({ labels, value }) =>
      html`<dt><bdi>${toShown(labels['interface'] ?? '')}</bdi></dt><dd>${value === 1 ? html`<span class="good">online</span>` : html`<strong class="warn">offline</strong>`}</dd>`,
  )}</dl></section>`;
}

function renderFact(title: string, value: string | null | undefined): Html | string {
  return value === null || value === undefined || value === ''
    ? ''
    : html`<dt>${title}</dt><dd><bdi>${toShown(value, 120)}</bdi></dd>`;
}

function renderAge({ ageSeconds }: Sample): string {
  return ageSeconds === null ? '' : `${renderLength(Math.round(ageSeconds))} ago`;
}

function findSamples({ values }: RouterDetail, family: string): readonly Sample[] {
  return values.flatMap(({ families }) =>
    families
      .filter(({ name }) => name === family)
      .flatMap(({ samples, ageSeconds }) => samples.map((sample) => ({ ...sample, ageSeconds }))),
  );
}
