/**
 * Measures what the expected values of the configuration cost a fleet.
 *
 *   npx node bench/compliance.ts [ROUTERS]
 *
 * Takes half a minute. Prints Markdown for RESULTS.md. The agent polls simulated routers over HTTPS on a stepped clock, once without and
 * once with five rules of two resources; the bytes are those that its sockets count, TLS included.
 */
import type { ExpectedValue } from '../src/status/index.ts';
import { type Fleet, startFleet } from '../test/support/fleet.ts';
import { describeMachine, print } from './contest.ts';

const ROUTERS = Number(process.argv[2] ?? 1000);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WEB = 'administration/webinterface';
const RULES: readonly ExpectedValue[] = [
  { resource: WEB, field: ['active', 'http_active'], value: '0' },
  { resource: WEB, field: 'active_https', value: '1' },
  { resource: WEB, field: 'session_timeout', value: '15' },
  { resource: WEB, field: 'log_requests', value: '0' },
  { resource: 'administration/hostnames', field: 'location', value: 'hall 4' },
];

const sum = (metrics: string, family: string) =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith(`${family}{`))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);

async function count(fleet: Fleet) {
  const metrics = await fleet.metrics();
  const bytes = sum(metrics, 'router_api_sent_bytes_total') + sum(metrics, 'router_api_received_bytes_total');
  const requests = fleet.simulator.routers
    .flatMap(({ counters }) => Object.entries(counters.requests))
    .filter(([name]) => name.includes('/configuration/'))
    .reduce((total, [, number]) => total + number, 0);
  return { bytes, requests, series: metrics.match(/^router_config_expected\{/gm)?.length ?? 0 };
}

async function measure(expect: readonly ExpectedValue[]) {
  await using fleet = await startFleet({
    routers: ROUTERS,
    router: {
      expect,
      poll: {
        interval: 30 * MINUTE_MS,
        timeout: 10_000,
        connect_timeout: 5000,
        deadline: 45_000,
        stale_after: 2 * HOUR_MS,
      },
      logs: { enabled: false, interval: HOUR_MS, start: 'all', components: ['*'] },
    },
    config: (config) => ({
      ...config,
      routers: config.routers.map((router) => ({
        ...router,
        modules: config.modules.filter(({ name }) => ['compliance', 'system'].includes(name)),
      })),
    }),
  });
  await fleet.advance(31 * MINUTE_MS);
  const first = await count(fleet);
  await fleet.advance(30 * MINUTE_MS);
  const second = await count(fleet);
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(31 * MINUTE_MS);
  return [first, second, await count(fleet)];
}

const [without, withRules] = [await measure([]), await measure(RULES)];
print(
  `${describeMachine()}; ${ROUTERS} routers, ${RULES.length} rules of 2 resources.`,
  '',
  '| | Requests of the configuration | Series | Bytes without rules | with rules | per router |',
  '|---|---:|---:|---:|---:|---:|',
  ...['first contact', 'half an hour later, in all', 'after a restart'].map((what, index) => {
    const [before, after] = [without[index]?.bytes ?? 0, withRules[index]?.bytes ?? 0];
    const { requests, series } = withRules[index] ?? {};
    return `| ${[what, requests, series, before, after, Math.round((after - before) / ROUTERS)].join(' | ')} |`;
  }),
);
