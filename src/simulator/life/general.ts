import { createHash } from 'node:crypto';
import { hashToUnit } from '../../base/index.ts';
import { type Configuration, readEntries, readValue } from '../configuration/state.ts';
import type { Firmware } from '../device/hardware.ts';
import {
  type Describe,
  grow,
  type LifeContext,
  pickInteger,
  type StatusBody,
  type StatusRow,
  wander,
} from './life-context.ts';

const LEASES_MAX = 12;
const LEASE_MS = 3_600_000;
const ENROLLED_DAYS = 365;

function describeDevice({ hardware }: LifeContext): StatusBody {
  return { unique: { device_type: hardware.deviceType }, list: hardware.boards.map((board) => ({ ...board })) };
}

/** `overview` and `status_summary`. */
function describeOverview(life: LifeContext): StatusBody {
  const { hardware, configuration, settings } = life;
  return {
    unique: {
      device_type: hardware.deviceType,
      firmware_version: hardware.firmware,
      serial_number: hardware.serial,
      hostname: readValue(configuration, 'administration/hostnames', 'hostname'),
      wan: describeWan(life).unique?.['name'] ?? '---',
      info_led: settings.get('info_led') ?? 'off',
    },
  };
}

/** `device_features`: kinds of cards and functions. */
function describeFeatures({ hardware }: LifeContext): StatusBody {
  const features = [...new Set(hardware.cards.map((card) => card.replace(/\d$/, '')))];
  return { list: [...features, 'container', 'openvpn', 'ipsec'].map((name) => ({ name, available: 'yes' })) };
}

/** `sysdetail/dhcp_leases`: devices change by the hour. */
function describeLeases(life: LifeContext): StatusBody {
  const { key, clock } = life;
  const hour = Math.floor(clock.uptimeMs() / LEASE_MS);
  const count = pickInteger(`${key}/leases/${hour}`, 1, LEASES_MAX);
  return {
    list: Array.from({ length: count }, (_none, position) => ({
      ip_address: `192.168.1.${100 + position}`,
      mac_address: `02:05:b6:00:00:${(position + 16).toString(16)}`,
      hostname: position % 3 === 2 ? '' : `device-${position + 1}`,
      expires: `${LEASE_MS / 1000 - Math.floor((clock.uptimeMs() % LEASE_MS) / 1000)} s`,
      interface: 'net1',
    })),
  };
}

/** `sysstat/lan`. */
function describeLan({ configuration }: LifeContext): StatusBody {
  const nets = readEntries(configuration, 'interfaces/ip_nets').filter(({ fields }) => fields['mode'] === 'static');
  return { list: nets.map(({ index }) => ({ if_name: index, state: 'online' })) };
}

/** `sysdetail/container`. */
function describeContainers({ configuration, settings }: LifeContext): StatusBody {
  return {
    list: readEntries(configuration, 'administration/container').map(({ fields }) => {
      const name = fields['name'] ?? '';
      const configured = fields['active'] === '1' ? 'running' : 'stopped';
      return { name, state: settings.get(`container/${name}`) ?? configured };
    }),
  };
}

/** `sysdetail/init_services` and `sysdetail/cert_enrollment`. */
function describeServices(): StatusBody {
  return { list: ['restd', 'httpd', 'eventd'].map((name) => ({ name, state: 'running' })) };
}

function describeEnrollment({ key }: LifeContext): StatusBody {
  return { list: [{ name: 'device_cert', state: 'valid', days_left: String(pickInteger(key, 30, ENROLLED_DAYS)) }] };
}

const LOAD_PERIOD_MS = 60_000;
const RAM_MIB = 256;

/** `sysdetail/system`. Each firmware formats date, uptime, load and memory differently; only 9.5 reports the flash. */
function describeSystem(life: LifeContext): StatusBody {
  const { key, clock, hardware, configuration } = life;
  const uptimeMs = clock.uptimeMs();
  const busy = wander(`${key}/load`, uptimeMs, LOAD_PERIOD_MS);
  const used = 0.35 + 0.3 * wander(`${key}/ram`, uptimeMs, LOAD_PERIOD_MS);
  return {
    unique: {
      location: readValue(configuration, 'administration/hostnames', 'location'),
      ...FORMATS[hardware.firmware]({ localStamp: clock.localStamp(), uptimeMs, busy, used }),
      // Changes with every activation.
      hash: hash(configuration),
      mac: renderMac(life, 0),
      ...(hardware.firmware === '9.5' && { flash_status: 'OK' }),
    },
  };
}

function renderMac({ key }: LifeContext, offset: number): string {
  const number = pickInteger(`${key}/mac`, 0, 0xff_ff_00) + offset;
  const [a = '', b = '', c = ''] = number.toString(16).padStart(6, '0').match(/../g) ?? [];
  return `00:05:b6:${a}:${b}:${c}`;
}

interface Readings {
  /** `YYYY-MM-DD hh:mm:ss` */
  readonly localStamp: string;
  readonly uptimeMs: number;
  /** 0 to 1. */
  readonly busy: number;
  /** Share of the memory, 0 to 1. */
  readonly used: number;
}

const FORMATS: Readonly<Record<Firmware, (readings: Readings) => Readonly<Record<string, string>>>> = {
  '9.5': ({ localStamp, uptimeMs, busy, used }) => {
    const { days, time } = splitUptime(uptimeMs);
    return {
      date: localStamp,
      uptime: `${days} days, ${time.slice(0, 5)}`,
      load: [busy, 0.5 * busy + 0.2, 0.25].map((value) => value.toFixed(2)).join(' '),
      ram: `${Math.round(used * RAM_MIB)} / ${RAM_MIB} MB`,
    };
  },
  '6.1': ({ localStamp, uptimeMs, busy, used }) => {
    const { days, time } = splitUptime(uptimeMs);
    const [year, month, day] = localStamp.slice(0, 10).split('-');
    return {
      date: `${day}.${month}.${year} ${localStamp.slice(11)}`,
      uptime: `${days} ${time}`,
      load: `${Math.round(busy * 100)} %`,
      ram: `${Math.round(used * 100)} %`,
    };
  },
  '5.5': ({ localStamp, uptimeMs, busy, used }) => ({
    date: localStamp,
    uptime: String(Math.floor(uptimeMs / 1000)),
    load: busy.toFixed(2),
    ram: String(Math.round(used * RAM_MIB * 1024 * 1024)),
  }),
};

function splitUptime(uptimeMs: number): { days: number; time: string } {
  const days = Math.floor(uptimeMs / 86_400_000);
  return { days, time: new Date(uptimeMs % 86_400_000).toISOString().slice(11, 19) };
}

/** Topic of the chain chosen by an operation. */
export const CHOSEN_CHAIN = 'wan_chain';
/** The state of an ethernet uplink lasts for multiples of this time; one in 50 is down. */
const UPLINK_PIECE_MS = 10 * 60_000;
const UPLINK_DOWN_SHARE = 0.02;
/** A tunnel comes up this long after its carrier. */
const TUNNEL_DELAY_MS = 5000;

interface Chain {
  readonly name: string;
  readonly interfaces: readonly string[];
}

/** The chain chosen by an operation, else the first whose interfaces are all online, else the first. */
function describeWan(life: LifeContext): StatusBody {
  const chains = readChains(life);
  const chosen = chains.find(({ name }) => name === life.settings.get(CHOSEN_CHAIN));
  const chain = chosen ?? chains.find(({ interfaces }) => isChainOnline(life, interfaces)) ?? chains[0];
  if (!chain) return { unique: { name: '---' }, list: [] };
  return {
    unique: { name: chain.name },
    list: chain.interfaces.map((name) => ({ if_name: name, state: isOnline(life, name) ? 'online' : 'offline' })),
  };
}

/** Milliseconds; `undefined` while the interface is down. */
function readUpMs(life: LifeContext, name: string): number | undefined {
  const uptimeMs = life.clock.uptimeMs();
  const modem = life.modems.get(name);
  if (modem) return modem.view(uptimeMs).onlineForMs;
  if (!/^(?:ipsec|openvpn|wg)/.test(name)) return uptimeMs;
  const carrierMs = [...life.modems.values()]
    .map((one) => one.view(uptimeMs).onlineForMs)
    .find((ms) => ms !== undefined);
  return carrierMs !== undefined && carrierMs > TUNNEL_DELAY_MS ? carrierMs - TUNNEL_DELAY_MS : undefined;
}

function readChains({ configuration }: LifeContext): Chain[] {
  return readEntries(configuration, 'wan/wans')
    .filter(({ fields }) => fields['active'] === '1')
    .map(({ index, sublist }) => ({ name: index, interfaces: sublist.map(({ fields }) => fields['interface'] ?? '') }));
}

function isChainOnline(life: LifeContext, interfaces: readonly string[]): boolean {
  return interfaces.length > 0 && interfaces.every((name) => isOnline(life, name));
}

function isOnline(life: LifeContext, name: string): boolean {
  if (!name.startsWith('net')) return readUpMs(life, name) !== undefined;
  const piece = Math.floor(life.clock.uptimeMs() / UPLINK_PIECE_MS);
  return hashToUnit(`${life.key}/uplink/${name}/${piece}`) >= UPLINK_DOWN_SHARE;
}

/** Approximate. */
const PACKET_BYTES = 420;
/** One faulty packet in so many. */
const ERROR_EVERY = 250_000;
const WRAP = 2 ** 32;

/**
 * `sysdetail/ip_addresses`: one row per active interface of the configuration. Counters grow from the start of the router or, for dial-up
 * interfaces, of the connection. Those of firmware 5.5 have 32 bits.
 */
function describeInterfaces(life: LifeContext): StatusBody {
  const { configuration, hardware } = life;
  const listed = (path: string) =>
    readEntries(configuration, path).flatMap(({ index, fields }) => (fields['active'] === '0' ? [] : [index]));
  const names = [
    ...listed('interfaces/ip_nets'),
    ...hardware.interfaces.filter((name) => name.startsWith('lte') || name.startsWith('dsl')),
    ...listed('interfaces/openvpn'),
    ...listed('interfaces/ipsec'),
    ...listed('interfaces/wireguard'),
  ];
  return { list: names.map((name, position) => describeInterface(life, name, position)) };
}

function describeInterface(life: LifeContext, name: string, position: number): StatusRow {
  const seed = `${life.key}/interface/${name}`;
  const upMs = readUpMs(life, name);
  const count = (what: string, per: number) => {
    const rate = pickInteger(`${seed}/${what}`, 500, 40_000);
    const value = Math.floor(grow(rate, upMs ?? 0) / per);
    return String(life.hardware.firmware === '5.5' ? value % WRAP : value);
  };
  const addresses = upMs === undefined ? [] : listAddresses(life, name);
  return {
    name,
    ip_address: addresses[0] ?? '',
    mac_address: /^(?:net|wlan)/.test(name) ? renderMac(life, position + 1) : '',
    bytes_rx: count('rx', 1),
    bytes_tx: count('tx', 1),
    packets_rx: count('rx', PACKET_BYTES),
    packets_tx: count('tx', PACKET_BYTES),
    errors_rx: count('rx', PACKET_BYTES * ERROR_EVERY),
    errors_tx: '0',
    sublist: addresses.map((ip_address) => ({ ip_address })),
  };
}

function listAddresses({ configuration, key }: LifeContext, name: string): string[] {
  const host = pickInteger(`${key}/address/${name}`, 2, 254);
  if (!name.startsWith('net')) return [`10.${pickInteger(`${key}/net/${name}`, 1, 250)}.0.${host}/32`];
  const entry = readEntries(configuration, 'interfaces/ip_nets').find(({ index }) => index === name);
  const own = (entry?.sublist ?? []).map(({ fields }) => fields['ip_address'] ?? '');
  return [...(own.length > 0 ? own : [`198.51.100.${host}/24`]), `fe80::205:b6ff:fe00:${host.toString(16)}/64`];
}

/** A configuration never changes: a change makes another one. */
const hashes = new WeakMap<Configuration, string>();

function hash(configuration: Configuration): string {
  const known = hashes.get(configuration);
  if (known !== undefined) return known;
  const text = JSON.stringify([...configuration]);
  const fresh = createHash('sha256').update(text).digest('hex').slice(0, 32);
  hashes.set(configuration, fresh);
  return fresh;
}

/** The status resources of every router. */
export const generalResources: readonly [string, Describe][] = [
  ['overview', describeOverview],
  ['status_summary', describeOverview],
  ['device_info', describeDevice],
  ['device_features', describeFeatures],
  ['sysdetail/system', describeSystem],
  ['sysdetail/ip_addresses', describeInterfaces],
  ['sysdetail/dhcp_leases', describeLeases],
  ['sysdetail/init_services', describeServices],
  ['sysdetail/container', describeContainers],
  ['sysdetail/cert_enrollment', describeEnrollment],
  ['sysstat/wan', describeWan],
  ['sysstat/lan', describeLan],
];
