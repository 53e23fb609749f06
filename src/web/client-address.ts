import { isIP } from 'node:net';
import { type AddressSet, toClientKey } from './address.ts';

/** Bounds the work of one header; a request passes a few proxies. */
const HOPS_MAX = 32;

/**
 * Identifies the client of a request: the address of its connection, or, when that is one of the `proxies`, the last
 * address in `X-Forwarded-For` that is none. Those before it are what the client says, and no proxy has checked them.
 */
export function findClient(peer: string, forwardedFor: string | undefined, proxies: AddressSet): string {
  if (!proxies.has(peer)) return toClientKey(peer);
  const hops = (forwardedFor ?? '').split(',').slice(-HOPS_MAX);
  const client = hops.map((hop) => hop.trim()).findLast((hop) => !proxies.has(hop));
  return toClientKey(client !== undefined && isIP(client) !== 0 ? client : peer);
}
