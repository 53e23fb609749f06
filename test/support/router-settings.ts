import { Secret } from '../../src/base/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import type { TlsSettings } from '../../src/settings/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Trust in the machine's own authorities, and no certificate to show. */
export const PLAIN_TLS: TlsSettings = { insecure_skip_verify: false };

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
      interval: MINUTE_MS,
      timeout: 10 * SECOND_MS,
      connect_timeout: 5 * SECOND_MS,
      deadline: 45 * SECOND_MS,
      stale_after: 3 * MINUTE_MS,
    },
    logs: { enabled: true, interval: 30 * SECOND_MS, start: 'all', components: ['*'] },
    modules: [],
    metrics: {},
    expect: [],
    byte_budget: { perDay: 0, statusShare: 0.2 },
    data_plans: [],
    ...changes,
  };
}
