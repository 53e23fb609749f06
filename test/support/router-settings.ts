import { Secret } from '../../src/base/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import type { TlsSettings } from '../../src/settings/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Trust in the machine's own authorities, and no certificate to show. */
export const PLAIN_TLS: TlsSettings = {
  caPem: undefined,
  serverName: undefined,
  certPem: undefined,
  keyPem: undefined,
  fingerprintSha256: undefined,
  insecureSkipVerify: false,
};

/** Settings of one router without modules that is polled every minute and whose logs are read every half. */
export function createRouterSettings(url: string, changes: Partial<RouterSettings> = {}): RouterSettings {
  return {
    name: 'plant-7',
    url,
    groups: [],
    labels: {},
    username: 'monitor',
    password: new Secret('simulated'),
    auth: 'token',
    tls: PLAIN_TLS,
    timezone: 'Europe/Berlin',
    poll: {
      intervalMs: MINUTE_MS,
      timeoutMs: 10 * SECOND_MS,
      connectTimeoutMs: 5 * SECOND_MS,
      deadlineMs: 45 * SECOND_MS,
      staleAfterMs: 3 * MINUTE_MS,
    },
    logs: { enabled: true, intervalMs: 30 * SECOND_MS, start: 'all', components: ['*'] },
    modules: [],
    metrics: {},
    byteBudget: 0,
    byteBudgetStatusShare: 0.2,
    ...changes,
  };
}
