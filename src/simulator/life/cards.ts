import { hashToUnit } from '../../base/index.ts';
import type { LifeContext } from './life-context.ts';
import { pickInteger, wander } from './signal.ts';
import type { StatusBody, StatusRow } from './status-body.ts';

const PORTS = 5;
/** A port's link is looked at in pieces of this length. */
const LINK_PIECE_MS = 5 * 60_000;
const SLOW_PERIOD_MS = 15 * 60_000;
/** Chance of each port of a switch to be up; the third one flaps. */
const LINK_SHARES = [1, 1, 0.8, 0, 0];

/** `ethernetN`: a switch of five ports. */
export function describeEthernet(life: LifeContext, card: string): StatusBody {
  return { list: Array.from({ length: PORTS }, (_none, position) => describePort(life, card, position)) };
}

/** `sfpN`: two cages; the second one is empty. */
export function describeSfp(life: LifeContext, card: string): StatusBody {
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
export function describePower(life: LifeContext, card: string): StatusBody {
  const second = hashToUnit(`${life.key}/${card}/${Math.floor(life.clock.uptimeMs() / (4 * SLOW_PERIOD_MS))}`) > 0.9;
  const volts = (feed: number) =>
    `${(23.6 + wander(`${life.key}/${card}/${feed}`, life.clock.uptimeMs(), SLOW_PERIOD_MS)).toFixed(2)} V`;
  return { unique: { active_supply: second ? 'V+2' : 'V+1', input_voltage_1: volts(1), input_voltage_2: volts(2) } };
}

/** `ioN`, `sioN` and `adioN`: digital lines, and analogue ones where the card has them. */
export function describeLines(life: LifeContext, card: string): StatusBody {
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
export function describeSerial(life: LifeContext, card: string): StatusBody {
  const name = `${card}.1`;
  return { list: [{ name, state: life.settings.get(`serge/${name}`) ?? 'disconnected', baudrate: '115200' }] };
}

/** `wlan1`: an access point, and how many use it. */
export function describeWlan(life: LifeContext, card: string): StatusBody {
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
export function describeDsl(life: LifeContext, card: string): StatusBody {
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
