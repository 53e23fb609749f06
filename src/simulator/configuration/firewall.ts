import { readEntries, readValue } from './fresh.ts';
import { resourceTable } from './resource-table.ts';
import { type Configuration, readState, replaceState } from './state.ts';

const PATH = 'netfilter/ip_filter';

/**
 * Returns true if the firewall accepts TCP connections to this port of the router itself. While its filter is active,
 * that requires an active rule for incoming packets; `dst_port` is a port, a range `from:to`, several of them separated
 * by commas, or empty for all. The IPv4 filter applies to every client, and interfaces are not distinguished: all
 * clients are on one network.
 */
export function isPortOpen(configuration: Configuration, port: number): boolean {
  if (readValue(configuration, PATH, 'active_ipv4') !== '1') return true;
  return readEntries(configuration, PATH).some(({ fields }) => {
    const { active, direction, protocol, dst_port: ports = '' } = fields;
    const isException = active === '1' && direction === 'input' && (protocol === 'tcp' || protocol === 'all');
    return isException && (ports === '' || ports.split(',').some((part) => covers(part, port)));
  });
}

/**
 * Returns the configuration with the given ports in the rule that a fresh router has for its web and REST interface.
 */
export function replaceWebPorts(configuration: Configuration, ports: string): Configuration {
  const definition = resourceTable.get(PATH);
  if (!definition) return configuration;
  const state = readState(configuration, definition);
  const list = state.list.map((entry) =>
    entry.fields['dst_port'] === WEB_PORTS ? { ...entry, fields: { ...entry.fields, dst_port: ports } } : entry,
  );
  return replaceState(configuration, definition, { ...state, list });
}

/** Ports allowed by the rule of a fresh router. */
const WEB_PORTS = '80,443';

function covers(part: string, port: number): boolean {
  const [from = '', to = from] = part.trim().split(':');
  return /^\d{1,5}$/.test(from) && /^\d{1,5}$/.test(to) && Number(from) <= port && port <= Number(to);
}
