import { BlockList, isIP } from 'node:net';
import { describeHost } from '../../settings/index.ts';

/** An address or a network such as `10.0.0.0/8`. */
export interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** Prefix length. */
  readonly bits: number;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** Parses an address or a network. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', written, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || describeHost(address) !== undefined) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (written === undefined) return { address, family, bits: BITS[family] };
  if (!/^\d{1,3}$/.test(written) || Number(written) > BITS[family]) return undefined;
  return { address, family, bits: Number(written) };
}

/** Renders a network in its configured form. */
export function renderNetwork({ address, family, bits }: Network): string {
  return bits === BITS[family] ? address : `${address}/${bits}`;
}

/** A set of networks. */
export class AddressSet {
  readonly #list = new BlockList();

  constructor(networks: readonly Network[]) {
    for (const { address, bits, family } of networks) this.#list.addSubnet(address, bits, family);
  }

  /** True if the address is in one of the networks. */
  has(address: string): boolean {
    const plain = unmapAddress(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Loopback addresses. */
export const LOOPBACK: readonly Network[] = [
  { address: '127.0.0.0', family: 'ipv4', bits: 8 },
  { address: '::1', family: 'ipv6', bits: 128 },
];

/** Sockets for both address families show IPv4 addresses as IPv6. */
function unmapAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/** Returns the key by which clients are counted: an IPv6 client has a /64 network at least. */
export function toClientKey(address: string): string {
  const plain = unmapAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = (plain.split('%')[0] ?? '').split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}

/** Bounds the work for one header; a request passes a few proxies. */
const HOPS_MAX = 32;

/**
 * Identifies the client of a request: the address of its connection, or, if that is one of the `proxies`, the last address in
 * `X-Forwarded-For` that is not a proxy. Earlier entries are set by the client and cannot be trusted.
 */
export function findClient(peer: string, forwardedFor: string | undefined, proxies: AddressSet): string {
  if (!proxies.has(peer)) return toClientKey(peer);
  const hops = (forwardedFor ?? '').split(',').slice(-HOPS_MAX);
  const client = hops.map((hop) => hop.trim()).findLast((hop) => !proxies.has(hop));
  return toClientKey(client !== undefined && isIP(client) !== 0 ? client : peer);
}
