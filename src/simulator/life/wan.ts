import { hashToUnit } from '../../base/index.ts';
import { readEntries } from '../configuration/fresh.ts';
import type { LifeContext } from './life-context.ts';
import type { StatusBody } from './status-body.ts';

/** Topic under which an operation keeps the chain that it chose. */
export const CHOSEN_CHAIN = 'wan_chain';
/** An ethernet uplink is looked at in pieces of this length; in one of 50 it is down. */
const UPLINK_PIECE_MS = 10 * 60_000;
const UPLINK_DOWN_SHARE = 0.02;
/** A tunnel comes up this long after what carries it. */
const TUNNEL_DELAY_MS = 5000;

interface Chain {
  readonly name: string;
  readonly interfaces: readonly string[];
}

/**
 * The WAN chain in use: the one that an operation chose, else the first whose interfaces are all online, else the first.
 * Both the chain's name and its members come from the configuration.
 */
export function describeWan(life: LifeContext): StatusBody {
  const chains = readChains(life);
  const chosen = chains.find(({ name }) => name === life.settings.get(CHOSEN_CHAIN));
  const chain = chosen ?? chains.find(({ interfaces }) => isChainOnline(life, interfaces)) ?? chains[0];
  if (!chain) return { unique: { name: '---' }, list: [] };
  return {
    unique: { name: chain.name },
    list: chain.interfaces.map((name) => ({ if_name: name, state: isOnline(life, name) ? 'online' : 'offline' })),
  };
}

/** Returns the time for which an interface has been up; `undefined` while it is down. Milliseconds. */
export function readUpMs(life: LifeContext, name: string): number | undefined {
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
