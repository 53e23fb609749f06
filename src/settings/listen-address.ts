import { isIPv4, isIPv6 } from 'node:net';

/** Host and port to listen on. */
export interface ListenAddress {
  /** Host name or address without brackets; `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

const PORT_MAX = 65_535;
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Parses `host:port`, `:port` or `[::1]:port`; `undefined` when the text is none. Port 0 lets the system choose. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > PORT_MAX) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { host: undefined, port };
  // A name of digits and dots alone is an address with a mistake in it.
  const isHost = /^[\d.]+$/.test(plain) ? isIPv4(plain) : HOST_NAME.test(plain);
  return isHost ? { host: plain, port } : undefined;
}

/** Renders an address as it is written: `[::1]:port` for one with colons. */
export function renderListenAddress({ host = '', port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
