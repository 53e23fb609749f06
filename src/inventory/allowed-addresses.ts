import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { matchesStars } from '../base/index.ts';

export type AllowedAddress =
  | { readonly kind: 'network'; readonly family: 'ipv4' | 'ipv6'; readonly address: string; readonly bits: number }
  | { readonly kind: 'host'; readonly glob: string };

interface AllowedAddresses {
  readonly allowed_addresses: readonly AllowedAddress[];
  /** True to allow http, which sends passwords in plain text. */
  readonly allow_http: boolean;
}

/** IPv6 addresses that contain IPv4 addresses: mapped, compatible, translated and tunnelled ones. */
const IPV4_IN_IPV6 = new BlockList();
// Node.js compares mapped addresses with IPv4 networks.
IPV4_IN_IPV6.addSubnet('0.0.0.0', 0, 'ipv4');
IPV4_IN_IPV6.addSubnet('::ffff:0:0', 96, 'ipv6');
IPV4_IN_IPV6.addSubnet('::', 96, 'ipv6');
IPV4_IN_IPV6.addSubnet('64:ff9b::', 96, 'ipv6');
IPV4_IN_IPV6.addSubnet('64:ff9b:1::', 48, 'ipv6');
IPV4_IN_IPV6.addSubnet('2001::', 32, 'ipv6');
IPV4_IN_IPV6.addSubnet('2002::', 16, 'ipv6');

const LABEL = /^(?!-)[a-z0-9*-]{1,63}(?<!-)$/;
const HOST_CHARS_MAX = 253;

/** Parses a network such as `10.1.0.0/16`, an address, or a glob of host names; `undefined` for any other text. */
export function parseAllowedAddress(text: string): AllowedAddress | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) && !address.includes('%') ? 'ipv6' : undefined;
  if (family !== undefined) {
    const most = family === 'ipv4' ? 32 : 128;
    const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
    return rest.length === 0 && bits <= most ? { kind: 'network', family, address, bits } : undefined;
  }
  const glob = text.toLowerCase();
  return isHostGlob(glob) ? { kind: 'host', glob } : undefined;
}

/** Labels after the last star: names in or directly below a top-level domain are open to registration by anyone. */
const FIXED_LABELS_MIN = 2;

/**
 * The last label begins with a letter, and {@link FIXED_LABELS_MIN} labels follow the last star, unless it is the only
 * label.
 */
function isHostGlob(glob: string): boolean {
  const labels = glob.split('.');
  if (glob.length > HOST_CHARS_MAX || !labels.every((label) => LABEL.test(label))) return false;
  if (!/^[a-z]/.test(labels.at(-1) ?? '')) return false;
  const last = labels.findLastIndex((label) => label.includes('*'));
  return labels.length === 1 || last < 0 || labels.length - 1 - last >= FIXED_LABELS_MIN;
}

export function renderAllowedAddress(allowed: AllowedAddress): string {
  if (allowed.kind === 'host') return allowed.glob;
  return `${allowed.address}/${allowed.bits}`;
}

/** Checks by list: thousands of routers share one. */
const compiled = new WeakMap<AllowedAddresses, (url: URL) => string | undefined>();

/**
 * Returns why a source may not give this URL to a router; `undefined` if it may. `url` is normalised, so that the
 * connection later goes to exactly this host: a network allows only literal addresses, a glob only names.
 */
export function findAddressFault(url: string, allowed: AllowedAddresses): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed) return 'it is no URL';
  const check = compiled.get(allowed) ?? compile(allowed);
  compiled.set(allowed, check);
  return check(parsed);
}

function compile({
  allowed_addresses: addresses,
  allow_http: allowsHttp,
}: AllowedAddresses): (url: URL) => string | undefined {
  // Separate lists: Node.js takes an IPv4 address for a mapped one, which is in ::/0.
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const one of addresses) {
    if (one.kind === 'network') networks[one.family].addSubnet(one.address, one.bits, one.family);
  }
  const globs = addresses.flatMap((one) => (one.kind === 'host' ? [one.glob.split('.')] : []));
  return ({ protocol, hostname, username, password }) => {
    if (protocol !== 'https:' && !(allowsHttp && protocol === 'http:')) return 'its scheme is not https';
    if (username !== '' || password !== '') return 'it has credentials';
    const host = hostname.replaceAll(/^\[|\]$/g, '');
    if (isIPv4(host)) return networks.ipv4.check(host, 'ipv4') ? undefined : OUTSIDE;
    if (isIPv6(host)) {
      // An IPv6 network must not allow an IPv4 address that no IPv4 network allows.
      if (host !== '::1' && IPV4_IN_IPV6.check(host, 'ipv6')) return 'it is an IPv4 address written as an IPv6 address';
      return networks.ipv6.check(host, 'ipv6') ? undefined : OUTSIDE;
    }
    const labels = host.toLowerCase().split('.');
    return globs.some((glob) => matchesHost(labels, glob)) ? undefined : OUTSIDE;
  };
}

const OUTSIDE = 'its host is not in "allowed_addresses" of the source';

/** A star matches within one label only, so that no other domain matches. */
function matchesHost(labels: readonly string[], glob: readonly string[]): boolean {
  return (
    labels.length === glob.length &&
    labels.every((label, index) => label !== '' && matchesStars(label, glob[index] ?? ''))
  );
}
