import { hashToUnit } from '../../base/index.ts';
import {
  type Describe,
  type LifeContext,
  type Modem,
  pickInteger,
  type StatusBody,
  type StatusRow,
  wander,
} from './life-context.ts';

const PORTS = 5;
/** A port's link state lasts for multiples of this time. */
const LINK_PIECE_MS = 5 * 60_000;
const SLOW_PERIOD_MS = 15 * 60_000;
/** Probability of each port of a switch to be up; the third one flaps. */
const LINK_SHARES = [1, 1, 0.8, 0, 0];

/** `ethernetN`: a switch of five ports. */
function describeEthernet(life: LifeContext, card: string): StatusBody {
  return { list: Array.from({ length: PORTS }, (_none, position) => describePort(life, card, position)) };
}

/** `sfpN`: two cages; the second one is empty. */
function describeSfp(life: LifeContext, card: string): StatusBody {
  const heat = wander(`${life.key}/${card}/heat`, life.clock.uptimeMs(), SLOW_PERIOD_MS);
  const optics = {
    temperature: `${(38 + 8 * heat).toFixed(1)} °C`,
    voltage: '3.29 V',
    tx_bias: `${(6 + heat).toFixed(2)} mA`,
    tx_power: `${(-5.5 + heat / 2).toFixed(2)} dBm`,
    rx_power: `${(-8 - heat).toFixed(2)} dBm`,
  };
  const empty = Object.fromEntries(Object.keys(optics).map((name) => [name, '']));
  return {
    list: [
      { ...describePort(life, card, 0), inserted: 'yes', ...optics },
      { ...describePort(life, card, 4), inserted: 'no', ...empty },
    ],
  };
}

/** `powerN`: two feeds, of which one is in use. */
function describePower(life: LifeContext, card: string): StatusBody {
  const second = hashToUnit(`${life.key}/${card}/${Math.floor(life.clock.uptimeMs() / (4 * SLOW_PERIOD_MS))}`) > 0.9;
  const volts = (feed: number) =>
    `${(23.6 + wander(`${life.key}/${card}/${feed}`, life.clock.uptimeMs(), SLOW_PERIOD_MS)).toFixed(2)} V`;
  return { unique: { active_supply: second ? 'V+2' : 'V+1', input_voltage_1: volts(1), input_voltage_2: volts(2) } };
}

/** `ioN`, `sioN` and `adioN`: digital lines, and analogue ones if the card has them. */
function describeLines(life: LifeContext, card: string): StatusBody {
  const slot = card.at(-1) ?? '';
  if (card === 'io2') {
    const direction = life.settings.has('output/2.1') ? 'out' : 'in';
    return { unique: { direction, state: life.settings.get('output/2.1') ?? readInput(life, card, 1) } };
  }
  const isAnalogue = card.startsWith('adio');
  const prefix = isAnalogue ? 'digital_' : '';
  const lines: Record<string, string> = {};
  for (const number of [1, 2]) lines[`${prefix}input_${number}`] = readInput(life, card, number);
  for (const number of [1, 2]) {
    lines[`${prefix}output_${number}`] = life.settings.get(`output/${slot}.${number}`) ?? 'open';
  }
  if (isAnalogue) {
    const share = wander(`${life.key}/${card}/analogue`, life.clock.uptimeMs(), SLOW_PERIOD_MS);
    lines['analog_input_1'] = `${(10 * share).toFixed(2)} V`;
    lines['analog_input_2'] = `${(4 + 16 * share).toFixed(2)} mA`;
    lines['analog_output_1'] = life.settings.get(`analog/${slot}.1`) ?? '0.00 V';
  }
  return { unique: lines };
}

/** `serialN`: one gateway. */
function describeSerial(life: LifeContext, card: string): StatusBody {
  const name = `${card}.1`;
  return { list: [{ name, state: life.settings.get(`serge/${name}`) ?? 'disconnected', baudrate: '115200' }] };
}

/** `wlan1`: an access point and its number of clients. */
function describeWlan(life: LifeContext, card: string): StatusBody {
  const stations = Math.round(3 * wander(`${life.key}/${card}/stations`, life.clock.uptimeMs(), SLOW_PERIOD_MS));
  return {
    unique: { mode: 'access point', ssid: 'plant', channel: '6' },
    list: Array.from({ length: stations }, (_none, position) => ({
      mac_address: `02:00:00:00:00:0${position + 1}`,
      signal: `${-40 - 9 * position} dBm`,
    })),
  };
}

/** `dslN/status`: a line that is up, and two digital inputs. */
function describeDsl(life: LifeContext, card: string): StatusBody {
  const noise = wander(`${life.key}/${card}/noise`, life.clock.uptimeMs(), SLOW_PERIOD_MS);
  return {
    unique: {
      state: 'Showtime',
      rate_down: '51392 kbit/s',
      rate_up: '10048 kbit/s',
      snr_margin_down: `${(7 + 3 * noise).toFixed(1)} dB`,
      input_1: readInput(life, card, 1),
      input_2: readInput(life, card, 2),
    },
  };
}

function describePort(life: LifeContext, card: string, position: number): StatusRow {
  const piece = Math.floor(life.clock.uptimeMs() / LINK_PIECE_MS);
  const isUp = hashToUnit(`${life.key}/${card}/${position}/${piece}`) < (LINK_SHARES[position] ?? 0);
  const net = card === 'ethernet1' ? (position === PORTS - 1 ? 'net2' : 'net1') : '---';
  return { link: isUp ? 'up' : 'down', port_net: net, speed: isUp ? '100 Mbit/s' : '', duplex: isUp ? 'full' : '' };
}

function readInput(life: LifeContext, card: string, number: number): string {
  const period = pickInteger(`${life.key}/${card}/input/${number}`, 60, 900) * 1000;
  return Math.floor(life.clock.uptimeMs() / period) % 2 === 0 ? 'low' : 'high';
}

/** Fading, beside the reception of a place and its network, which changes slowly. */
const SIGNAL_PERIOD_MS = 60_000;
const RECEPTION_PERIOD_MS = 4 * 3_600_000;
const CELL_PERIOD_MS = 3_600_000;
const TECHNOLOGY_PERIOD_MS = 12 * 3_600_000;
const NETWORKS = [
  { provider: '26201', provider_name: 'Telekom.de' },
  { provider: '26202', provider_name: 'Vodafone.de' },
  { provider: '23201', provider_name: 'A1' },
] as const;
const NOT_NOW = 'Not available at the moment';

/**
 * `lteN` and `lte_serialN`. Unknown values are the device's sentinels. Firmware 9.5 reports the three LTE values without units, 6.1 with
 * units, 5.5 not at all.
 */
function describeModem(life: LifeContext, card: string, modem: Modem): StatusBody {
  const { key, clock, hardware, settings, reception } = life;
  const seed = `${key}/${card}`;
  const uptimeMs = clock.uptimeMs();
  const { state, isRegistered, isPowered } = modem.view(uptimeMs);
  const place = wander(`${seed}/reception`, uptimeMs, RECEPTION_PERIOD_MS);
  const quality = reception * (0.8 * place + 0.2 * wander(`${seed}/signal`, uptimeMs, SIGNAL_PERIOD_MS));
  const signal = Math.round(8 + quality * 23);
  const unit = (text: string) => (hardware.firmware === '6.1' ? ` ${text}` : '');
  const known = (value: string, sentinel: string) => (isRegistered ? value : sentinel);
  const network = NETWORKS[pickInteger(`${seed}/network`, 0, NETWORKS.length - 1)] ?? NETWORKS[0];
  const cell = pickInteger(`${seed}/cell/${Math.floor(uptimeMs / CELL_PERIOD_MS)}`, 1_000_000, 30_000_000);
  // As on a real link, it lasts for hours.
  const technology =
    pickInteger(`${seed}/technology/${Math.floor(uptimeMs / TECHNOLOGY_PERIOD_MS)}`, 1, 5) > 1 ? 'LTE' : 'UMTS';
  const simIsReady = isPowered && state !== 'Turned on' && state !== 'SIM interface down';
  return {
    unique: {
      state,
      provider: known(network.provider, '0'),
      provider_name: known(network.provider_name, ''),
      used_net: known(technology, NOT_NOW),
      cell_id: known(String(cell), '0'),
      location_id: known(pickInteger(`${seed}/area`, 4096, 65_000).toString(16).toUpperCase(), ''),
      signal: known(String(signal), '99'),
      RSSI: known(`${-113 + 2 * signal}${unit('dBm')}`, '99'),
      ...(hardware.firmware !== '5.5' && {
        RSRP: known(`${-120 + Math.round(quality * 45)}${unit('dBm')}`, ''),
        RSRQ: known(`${-18 + Math.round(quality * 12)}${unit('dB')}`, ''),
        SINR: known(`${Math.round(quality * 22)}${unit('dB')}`, ''),
      }),
      sim_state: simIsReady ? 'SIM ready' : 'SIM missing or SIM failure',
      pin_state: simIsReady ? 'PIN ok' : 'SIM missing or SIM failure',
      pin_retries: simIsReady ? '3' : '0',
      IMEI: isPowered ? `35${pickInteger(`${seed}/imei`, 1_000_000_000_000, 9_999_999_999_999)}` : '',
      IMSI: simIsReady ? `${network.provider}${pickInteger(`${seed}/imsi`, 1_000_000_000, 9_999_999_999)}` : '',
      USIM: simIsReady ? `8949${pickInteger(`${seed}/usim`, 1e14, 9e14)}0` : '',
      used_sim: simIsReady ? 'SIM 1' : '',
      temperature: isPowered ? String(Math.round(34 + 14 * wander(`${seed}/heat`, uptimeMs, CELL_PERIOD_MS))) : '0',
      input_voltage_1: `${(23.4 + 0.7 * wander(`${seed}/supply`, uptimeMs, SIGNAL_PERIOD_MS)).toFixed(2)} V`,
      // Combined cards have their own digital lines.
      ...(card.startsWith('lte_serial') && {
        input_1: wander(`${seed}/input`, uptimeMs, CELL_PERIOD_MS) > 0.5 ? 'high' : 'low',
        output_1: settings.get('output/2.1') ?? 'open',
      }),
    },
  };
}

/** Kinds of cards whose only resource has the name of the card. */
const CARD_KINDS: readonly [string, (life: LifeContext, card: string) => StatusBody][] = [
  ['ethernet', describeEthernet],
  ['sfp', describeSfp],
  ['power', describePower],
  ['io', describeLines],
  ['sio', describeLines],
  ['adio', describeLines],
  ['serial', describeSerial],
  ['wlan', describeWlan],
];

/** Returns the status resources of a card; `modem`: the card's modem. */
export function listCardResources(card: string, modem: Modem | undefined): readonly [string, Describe][] {
  if (modem) {
    return [
      [card, (life) => describeModem(life, card, modem)],
      [`${card}/providers`, describeNothing],
    ];
  }
  if (card.startsWith('dsl')) {
    return [
      [`${card}/status`, (life) => describeDsl(life, card)],
      [`${card}/statistics_spectrum`, describeNothing],
    ];
  }
  const describe = CARD_KINDS.find(([kind]) => card.startsWith(kind))?.[1];
  return [
    ...(describe ? [[card, (life: LifeContext) => describe(life, card)] satisfies [string, Describe]] : []),
    ...(card.startsWith('wlan') ? [[`${card}/scan_results`, describeNothing] satisfies [string, Describe]] : []),
  ];
}

function describeNothing(): StatusBody {
  return { list: [] };
}
