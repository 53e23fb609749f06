import { readEntries } from '../configuration/fresh.ts';
import type { LifeContext } from './life-context.ts';
import { grow, pickInteger } from './signal.ts';
import type { StatusBody, StatusRow } from './status-body.ts';
import { renderMac } from './system.ts';
import { readUpMs } from './wan.ts';

/** Bytes per packet, roughly. */
const PACKET_BYTES = 420;
/** One faulty packet in so many. */
const ERROR_EVERY = 250_000;
const WRAP = 2 ** 32;

/**
 * `sysdetail/ip_addresses`: one row per active interface of the configuration. Counters grow from the start of the router
 * or, for what dials, from the start of its connection. Those of firmware 5.5 have 32 bits.
 */
export function describeInterfaces(life: LifeContext): StatusBody {
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
