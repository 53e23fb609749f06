import { Rejection } from '../rest/rejection.ts';
import { isPortOpen } from './firewall.ts';
import { readValue } from './fresh.ts';
import type { Configuration } from './state.ts';

const PATH = 'administration/webinterface';
const MINUTE_MS = 60_000;

/** Settings of a router's web and REST interface. */
export interface WebSettings {
  /** Port of HTTP without TLS; absent if disabled. */
  readonly httpPort: number | undefined;
  /** Port of HTTPS; absent if disabled. */
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

/** Returns why a router could not work with these settings. */
export function checkWebSettings({ httpPort, httpsPort }: WebSettings): Rejection | undefined {
  if (httpPort === undefined || httpPort !== httpsPort) return undefined;
  return Rejection.of(400, 'http_port', 'must differ from https_port');
}
