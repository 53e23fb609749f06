import { Rejection } from '../rejection.ts';
import { resourceTable } from './resources.ts';
import { type Configuration, readEntries, readState, readValue, replaceState } from './state.ts';

const PATH = 'administration/webinterface';
const MINUTE_MS = 60_000;

/** Settings of a router's web and REST interface. */
export interface WebSettings {
  /** Port of HTTP without TLS; absent if disabled. */
  readonly httpPort: number | undefined;
  /** Absent if disabled. */
  readonly httpsPort: number | undefined;
  /** Inactivity after which a session ends, in milliseconds. */
  readonly sessionTimeoutMs: number;
  /** Time for which a failed login locks its user name, in milliseconds. */
  readonly loginTimeoutMs: number;
  /** True if the router logs every request. */
  readonly logRequests: boolean;
  /** Returns true if the firewall lets clients reach a port. */
  readonly isPortOpen: (port: number) => boolean;
}

/** Returns the web settings of a configuration. */
export function readWebSettings(configuration: Configuration): WebSettings {
  const read = (name: string) => readValue(configuration, PATH, name);
  return {
    httpPort: read('http_active') === '1' ? Number(read('http_port')) : undefined,
    httpsPort: read('https_active') === '1' ? Number(read('https_port')) : undefined,
    sessionTimeoutMs: Number(read('session_timeout')) * MINUTE_MS,
    loginTimeoutMs: Number(read('login_timeout')) * 1000,
    logRequests: read('log_requests') === '1',
    isPortOpen: (port) => isPortOpen(configuration, port),
  };
}

/** Returns the reason for which a router cannot work with these settings. */
export function checkWebSettings({ httpPort, httpsPort }: WebSettings): Rejection | undefined {
  if (httpPort === undefined || httpPort !== httpsPort) return undefined;
  return Rejection.of(400, 'http_port', 'must differ from https_port');
}

const FILTER = 'netfilter/ip_filter';

/**
 * Returns true if the firewall accepts TCP connections to this port of the router itself. While its filter is active, that requires an
 * active rule for incoming packets; `dst_port` is a port, a range `from:to`, several of them separated by commas, or empty for all. The
 * IPv4 filter applies to every client, and interfaces are not distinguished: all clients are on one network.
 */
function isPortOpen(configuration: Configuration, port: number): boolean {
  if (readValue(configuration, FILTER, 'active_ipv4') !== '1') return true;
  return readEntries(configuration, FILTER).some(({ fields }) => {
    const { active, direction, protocol, dst_port: ports = '' } = fields;
    const isException = active === '1' && direction === 'input' && (protocol === 'tcp' || protocol === 'all');
    return isException && (ports === '' || ports.split(',').some((part) => covers(part, port)));
  });
}

/** Returns the configuration with the given ports in the rule that a fresh router has for its web and REST interface. */
export function replaceWebPorts(configuration: Configuration, ports: string): Configuration {
  const definition = resourceTable.get(FILTER);
  if (!definition) return configuration;
  const state = readState(configuration, definition);
  const list = state.list.map((entry) =>
    entry.fields['dst_port'] === WEB_PORTS ? { ...entry, fields: { ...entry.fields, dst_port: ports } } : entry,
  );
  return replaceState(configuration, definition, { ...state, list });
}

const WEB_PORTS = '80,443';

function covers(part: string, port: number): boolean {
  const [from = '', to = from] = part.trim().split(':');
  return /^\d{1,5}$/.test(from) && /^\d{1,5}$/.test(to) && Number(from) <= port && port <= Number(to);
}
