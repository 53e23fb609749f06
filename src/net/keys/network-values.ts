import {
  type About,
  describeHost,
  parsed,
  parseListenAddress,
  parseRouterUrl,
  renderListenAddress,
  webUrl,
} from '../../settings/index.ts';

const URL_EXPECTED =
  'an http or https URL of scheme, host, port and path alone, without credentials, query and fragment, such as';

/** A key for a base URL, without a trailing slash. */
export function baseUrl(about: About, example: string) {
  return webUrl(about, `${URL_EXPECTED} ${example}`, parseRouterUrl);
}

/** Host and port of a service. */
export interface HostAndPort {
  /** Host name or IP address, without brackets. */
  readonly host: string;
  /** Port, 1 to 65535. */
  readonly port: number;
}

/** Parses `host:port` or `[::1]:port`, with a port that can be connected to. */
export function parseHostAndPort(value: string): HostAndPort | undefined {
  const { host, port } = parseListenAddress(value) ?? {};
  return host !== undefined && port !== undefined && port > 0 ? { host, port } : undefined;
}

/** Creates the schema of a key whose value is `host:port`. */
export function hostAndPort(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port or [IPv6 address]:port with a port from 1 to 65535',
    parseHostAndPort,
    renderListenAddress,
    describeHost,
  );
}
