import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';

const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE, kit.BY_ROUTER);
const { linkToLogs, linkToRouter } = kit;

const MODEM = 'job, router, modem';
/** The networks of the modems: operator and access technology, of those that are selected. */
const NETWORK = `max by (${MODEM}, provider_name) (${of('router_modem_info', 'provider_name=~"$provider_name"')}) * on (${MODEM}) group_left (access_technology) max by (${MODEM}, access_technology) (${of('router_modem_access_technology', 'access_technology=~"$access_technology"')})`;
const USED_SIM = (...matchers: readonly string[]) =>
  `max by (${MODEM}, used_sim) (${of('router_modem_used_sim', ...matchers)}) and on (${MODEM}) (${NETWORK})`;
/** Returns a value of every modem in the selected networks, with the labels of its network. */
const withNetwork = (expr: string) =>
  `${expr} * on (${MODEM}) group_left (provider_name, access_technology) (${NETWORK})`;
const inNetwork = (metric: string) => withNetwork(`max by (job, site, router, modem) (${of(metric)})`);

interface Grade {
  readonly name: string;
  readonly from?: number;
  readonly below?: number;
}

/** Counts the modems per grade of a value, best first. */
function countGrades(metric: string, grades: readonly Grade[]): readonly [kit.Query, ...kit.Query[]] {
  const [first, ...others] = grades.map(({ name, from, below }): kit.Query => {
    const bounds = [...(from === undefined ? [] : [`>= ${from}`]), ...(below === undefined ? [] : [`< ${below}`])];
    return { expr: `count((${inNetwork(metric)}) ${bounds.join(' ')}) or vector(0)`, legend: name };
  });
  if (!first) throw new RangeError('There is no grade');
  return [first, ...others];
}

const now: kit.Section = {
  title: 'Now',
  panels: [
    kit.stat({
      title: 'Modems',
      description: 'Modems with values in the selected networks.',
      width: 4,
      unit: units.NoUnit,
      queries: [{ expr: `count(${NETWORK})` }],
    }),
    kit.stat({
      title: 'Without a data session',
      description: 'Modems whose state is not "Online". Their routers use another link, or they are dialling.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `count(${of('router_modem_online')} == 0) or vector(0)` }],
    }),
    kit.stat({
      title: 'SIM card faulty',
      description: 'Modems that report a missing or broken SIM card.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `count(${of('router_modem_sim_ok')} == 0) or vector(0)` }],
    }),
    kit.stat({
      title: 'On another SIM card',
      description: 'Modems that use a SIM card other than the first one because the first one failed.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [
        {
          expr: `count(${USED_SIM('used_sim!~".*1.*"')}) or vector(0)`,
        },
      ],
    }),
    kit.stat({
      title: 'Poor signal',
      description: 'Share of LTE modems with an RSRP below -110 dBm, at which connections become unstable.',
      width: 4,
      unit: units.PercentUnit,
      decimals: 1,
      limits: kit.SHARE_BAD,
      queries: [
        {
          expr: `(count((${inNetwork('router_modem_rsrp_dbm')}) < -110) or vector(0)) / count(${inNetwork('router_modem_rsrp_dbm')})`,
        },
      ],
    }),
    kit.stat({
      title: 'PIN attempts lost',
      description:
        'Modems with fewer than three attempts left to enter the PIN. With none left the card must be unlocked with its PUK; 0 also shows while there is no card.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `count(${of('router_modem_pin_retries')} < 3) or vector(0)` }],
    }),
  ],
};

const signal: kit.Section = {
  title: 'Signal',
  panels: [
    kit.trend({
      title: 'Modems by RSRP',
      description:
        'Received power of the LTE reference signal: depends on the distance of the cell and the antenna. A change of many modems is caused by the network, of one by its antenna.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: countGrades('router_modem_rsrp_dbm', [
        { name: 'good: -90 dBm or more', from: -90 },
        { name: 'fair: from -100 dBm', from: -100, below: -90 },
        { name: 'weak: from -110 dBm', from: -110, below: -100 },
        { name: 'poor: below -110 dBm', below: -110 },
      ]),
    }),
    kit.trend({
      title: 'Modems by RSRQ',
      description: 'Quality of the LTE reference signal: low with a good RSRP means a busy cell.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: countGrades('router_modem_rsrq_db', [
        { name: 'good: -10 dB or more', from: -10 },
        { name: 'fair: from -15 dB', from: -15, below: -10 },
        { name: 'weak: from -20 dB', from: -20, below: -15 },
        { name: 'poor: below -20 dB', below: -20 },
      ]),
    }),
    kit.trend({
      title: 'Modems by SINR',
      description: 'Signal to interference and noise ratio; limits the speed.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: countGrades('router_modem_sinr_db', [
        { name: 'good: 13 dB or more', from: 13 },
        { name: 'fair: from 5 dB', from: 5, below: 13 },
        { name: 'weak: from 0 dB', from: 0, below: 5 },
        { name: 'poor: below 0 dB', below: 0 },
      ]),
    }),
    kit.trend({
      title: 'RSRP by operator',
      description:
        'Median and 10th percentile of the modems of each operator. If only one operator drops, it has a failure.',
      width: 12,
      unit: units.DecibelMilliWatt,
      limits: kit.RSRP,
      showsLimits: true,
      queries: [
        {
          expr: `quantile by (provider_name) (0.5, ${inNetwork('router_modem_rsrp_dbm')})`,
          legend: '{{provider_name}}, median',
        },
        {
          expr: `quantile by (provider_name) (0.1, ${inNetwork('router_modem_rsrp_dbm')})`,
          legend: '{{provider_name}}, lowest tenth',
        },
      ],
    }),
    kit.trend({
      title: 'Strength by technology',
      description: 'Median of the received signal strength (RSSI), which all access technologies have.',
      width: 12,
      unit: units.DecibelMilliWatt,
      limits: kit.RSSI,
      showsLimits: true,
      queries: [
        {
          expr: `quantile by (access_technology) (0.5, ${inNetwork('router_modem_rssi_dbm')})`,
          legend: '{{access_technology}}',
        },
      ],
    }),
    kit.ranking({
      title: 'Sites with the weakest signal',
      description: 'Median RSRP of the modems of a site, the ten lowest.',
      width: 8,
      height: 10,
      unit: units.DecibelMilliWatt,
      min: -140,
      max: -44,
      limits: kit.RSRP,
      links: [kit.linkToSite('label')],
      queries: [
        { expr: `bottomk(10, quantile by (site) (0.5, ${inNetwork('router_modem_rsrp_dbm')}))`, legend: '{{site}}' },
      ],
    }),
    kit.table({
      title: 'Modems with the weakest signal',
      description:
        'The 50 modems with the lowest RSRP. Low RSRP indicates a bad antenna; low RSRQ or SINR, a busy cell.',
      width: 16,
      height: 10,
      sortBy: 'RSRP',
      isDescending: false,
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column'), linkToLogs('column')] },
        { label: 'site', title: 'Site', links: [kit.linkToSite('column')] },
        { label: 'modem', title: 'Modem' },
        { label: 'provider_name', title: 'Operator' },
        { label: 'access_technology', title: 'Technology' },
        ...(
          [
            ['RSRP', 'router_modem_rsrp_dbm', units.DecibelMilliWatt, kit.RSRP],
            ['RSRQ', 'router_modem_rsrq_db', units.Decibel, kit.RSRQ],
            ['SINR', 'router_modem_sinr_db', units.Decibel, kit.SINR],
            ['RSSI', 'router_modem_rssi_dbm', units.DecibelMilliWatt, kit.RSSI],
          ] as const
        ).map(([title, metric, unit, limits]) => ({
          title,
          unit,
          limits,
          expr: `${inNetwork(metric)} and on (job, router, modem) bottomk(50, ${inNetwork('router_modem_rsrp_dbm')})`,
        })),
      ],
    }),
  ],
};

/** Values of modems with the labels of their cells, of routers with the module `cells`. */
const byCell = (expr: string) =>
  `(${expr}) * on (job, router, modem) group_left (cell_id, location_id) max by (job, router, modem, cell_id, location_id) (${of('router_modem_cell_info')})`;
const WEAKEST_CELLS = `bottomk(20, quantile by (provider_name, location_id, cell_id) (0.5, ${byCell(inNetwork('router_modem_rsrp_dbm'))}))`;

const cells: kit.Section = {
  title: 'Cells',
  panels: [
    kit.table({
      title: 'Cells with the weakest signal',
      description:
        'The 20 cells whose modems have the lowest median RSRP. Many modems of one cell: it is far away, or has a fault. Requires the module `cells`.',
      width: 12,
      height: 10,
      sortBy: 'RSRP',
      isDescending: false,
      columns: [
        { label: 'provider_name', title: 'Operator' },
        { label: 'location_id', title: 'Area' },
        { label: 'cell_id', title: 'Cell' },
        { title: 'RSRP', expr: WEAKEST_CELLS, unit: units.DecibelMilliWatt, limits: kit.RSRP },
        {
          title: 'Modems',
          expr: `count by (provider_name, location_id, cell_id) (${byCell(inNetwork('router_modem_rsrp_dbm'))}) and ${WEAKEST_CELLS}`,
          unit: units.NoUnit,
        },
      ],
    }),
    kit.ranking({
      title: 'Routers that change most',
      description:
        'Changes of SIM card, operator, access technology and (with the module `cells`) cell between two polls, in the selected time.',
      width: 12,
      height: 10,
      unit: units.NoUnit,
      limits: kit.NEUTRAL,
      links: [linkToRouter('label'), linkToLogs('label')],
      queries: [
        {
          expr: `topk(10, sum by (job, router, fact) (${kit.growthShown(of('router_device_changes_total'))}) > 0)`,
          legend: '{{router}} {{fact}}',
        },
      ],
    }),
  ],
};

const networks: kit.Section = {
  title: 'Networks and SIM cards',
  panels: [
    kit.trend({
      title: 'Modems by operator',
      description:
        'Operators that modems are registered with. Another operator than usual means roaming, which may be expensive.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `count by (provider_name) (${NETWORK})`, legend: '{{provider_name}}' }],
    }),
    kit.trend({
      title: 'Modems by technology',
      description: 'LTE, UMTS, GSM. Modems on an older technology have lost their LTE cell.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `count by (access_technology) (${NETWORK})`, legend: '{{access_technology}}' }],
    }),
    kit.trend({
      title: 'Modems by SIM card',
      description: 'SIM cards in use by modems.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `count by (used_sim) (${USED_SIM()})`, legend: '{{used_sim}}' }],
    }),
    kit.trend({
      title: 'Modems by state',
      description: 'States of modems before a data session. Modems that stay below "Online" cannot connect.',
      width: 12,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `sum by (state) (${of('router_modem_state')}) > 0`, legend: '{{state}}' }],
    }),
    kit.ranking({
      title: 'Modems that change their state most',
      description:
        'Changes of modem states in the logs, in the selected time: flapping links. The pattern for these lines is a heuristic, so a modem without counted lines may also flap.',
      width: 12,
      unit: units.NoUnit,
      limits: kit.NEUTRAL,
      links: [linkToRouter('label'), linkToLogs('label')],
      queries: [
        {
          expr: `topk(10, sum by (job, router) (${kit.growthShown(of('router_log_modem_changes_total'))}) > 0)`,
          legend: '{{router}}',
        },
      ],
    }),
  ],
};

const CELLULAR = 'interface=~"(lte|hspa|umts|gsm|modem).*|ppp[0-9]*"';
const volumeShown = (by: string) =>
  `sum by (${by}) (${kit.growthShown(of('router_interface_receive_bytes_total', CELLULAR))}) + sum by (${by}) (${kit.growthShown(of('router_interface_transmit_bytes_total', CELLULAR))})`;
const volumeRate = (metric: string) => `sum(rate(${of(metric, CELLULAR)}[$__rate_interval]))`;

const volume: kit.Section = {
  title: 'Data volume',
  panels: [
    kit.trend({
      title: 'Traffic over cellular',
      description: 'Traffic of all users on the cellular interfaces, not only that of the agent.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [
        { expr: volumeRate('router_interface_receive_bytes_total'), legend: 'received' },
        { expr: volumeRate('router_interface_transmit_bytes_total'), legend: 'sent' },
      ],
    }),
    kit.stat({
      title: 'In 30 days, at this rate',
      description:
        'Cellular volume in the selected time, extrapolated to 30 days. Counter resets at each connection are taken into account.',
      width: 4,
      height: 8,
      unit: units.BytesIEC,
      queries: [
        {
          expr: `30 * 86400 / $__range_s * (sum(${kit.growthShown(of('router_interface_receive_bytes_total', CELLULAR))}) + sum(${kit.growthShown(of('router_interface_transmit_bytes_total', CELLULAR))}))`,
        },
      ],
    }),
    kit.ranking({
      title: 'Routers with the most volume',
      description: 'Cellular traffic in the selected time, the ten routers with the most.',
      width: 6,
      unit: units.BytesIEC,
      min: 0,
      links: [linkToRouter('label')],
      queries: [{ expr: `topk(10, ${volumeShown('job, router')})`, legend: '{{router}}' }],
    }),
    kit.ranking({
      title: 'Hottest modems',
      description: 'Temperature of modems. Above their limit, they slow down or switch off.',
      width: 6,
      unit: units.Celsius,
      min: 0,
      max: 90,
      limits: kit.MODEM_HEAT,
      links: [linkToRouter('label')],
      queries: [{ expr: `topk(10, ${of('router_modem_temperature_celsius')})`, legend: '{{router}} {{modem}}' }],
    }),
  ],
};

/** Creates the dashboard of the cellular networks of routers. */
export function createCellularDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'cellular',
    title: 'Routers / Cellular',
    description: 'Mobile networks: signal by operator, technology and site, SIM cards, data volume.',
    variables: [
      kit.datasourceVariable(),
      kit.jobVariable(),
      kit.siteVariable(),
      kit.routersVariable(),
      kit.operatorVariable(),
      kit.technologyVariable(),
    ],
    from: 'now-24h',
    sections: [now, signal, cells, networks, volume],
  });
}
