import { Fault } from '../fault.ts';
import { isPortOpen } from './firewall.ts';
import { readValue } from './fresh.ts';
import type { Configuration } from './state.ts';

const PATH = 'administration/webinterface';
const MINUTE_MS = 60_000;

/** What the web and REST interface of a router follows. */
export interface WebSettings {
  /** Port of HTTP without TLS; absent = off. */
  readonly httpPort: number | undefined;
  /** Port of HTTPS; absent = off. */
  readonly httpsPort: number | undefined;
  /** A session ends after this much inactivity. Milliseconds. */
  readonly sessionTimeoutMs: number;
  /** A failed login locks its name for this long. Milliseconds. */
  readonly loginTimeoutMs: number;
  /** Whether the router logs every request. */
  readonly logRequests: boolean;
  /** Whether the firewall lets clients reach a port. */
  readonly isPortOpen: (port: number) => boolean;
}

/** The web settings of a configuration. */
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

/** Why a router could not work with these settings. */
export function checkWebSettings({ httpPort, httpsPort }: WebSettings): Fault | undefined {
  if (httpPort === undefined || httpPort !== httpsPort) return undefined;
  return Fault.of(400, 'http_port', 'must differ from https_port');
}
