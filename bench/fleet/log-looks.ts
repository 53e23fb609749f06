/**
 * Measures what a look at logs without anything new costs, beside a bare client that downloads them.
 *
 *   npm run build && npx node bench/fleet/log-looks.ts [routers, default 100]
 *
 * Takes two minutes. Prints Markdown for RESULTS.md. Six logs of 40 kB, which the routers send whole each time: they know
 * neither ranges nor entity tags.
 */
import { describeMachine, print } from '../contest.ts';
import { compareWithBare, renderCompared } from './compare.ts';

const ROUTERS = Number(process.argv[2] ?? 100);
const INTERVAL_MS = 5000;

const simulated = { logs: { components: 6, bytes: 40_000 } };
const compared = await compareWithBare({ routers: ROUTERS, intervalMs: INTERVAL_MS, kind: 'logs', simulated });
print(
  `${describeMachine()}; ${ROUTERS} routers, a look of ${compared.requests} requests: the listing and six logs of 40 kB.`,
  '',
  renderCompared(compared),
);
