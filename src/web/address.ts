import { BlockList, isIP } from 'node:net';
import { describeHost } from '../settings/index.ts';

/** An address, or a network such as `10.0.0.0/8`, in the form that {@link AddressSet} takes. */
export interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** Number of leading bits that count. */
  readonly bits: number;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** Parses an address or a network; `undefined` when the text is none. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', written, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || describeHost(address) !== undefined) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (written === undefined) return { address, family, bits: BITS[family] };
  if (!/^\d{1,3}$/.test(written) || Number(written) > BITS[family]) return undefined;
  return { address, family, bits: Number(written) };
}

/** Renders a network as it is written. */
export function renderNetwork({ address, family, bits }: Network): string {
  return bits === BITS[family] ? address : `${address}/${bits}`;
}

/** Addresses of networks. */
export class AddressSet {
  readonly #list = new BlockList();

  constructor(networks: readonly Network[]) {
    for (const { address, bits, family } of networks) this.#list.addSubnet(address, bits, family);
  }

  /** True when the address lies in one of the networks. */
  has(address: string): boolean {
    const plain = unmapAddress(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Addresses of this machine itself. */
export const LOOPBACK: readonly Network[] = [
  { address: '127.0.0.0', family: 'ipv4', bits: 8 },
  { address: '::1', family: 'ipv6', bits: 128 },
];

/** An IPv4 address that came in on a socket for both families is written as IPv6. */
function unmapAddress(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/** The address by which clients are counted. One client has a whole IPv6 network of 64 bits at least. */
export function toClientKey(address: string): string {
  const plain = unmapAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = (plain.split('%')[0] ?? '').split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}
