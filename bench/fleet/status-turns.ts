/**
 * Measures what the agent's status turns cost, beside a bare client that sends the same requests.
 *
 *   npm run build && npx node bench/fleet/status-turns.ts [routers, default 200] [closing]
 *
 * Takes two minutes. Prints Markdown for RESULTS.md. The routers answer from memory in a process of their own; a third of
 * the resources change. With `closing` they close each connection after a second without a request, thus after every turn.
 */
import { describeMachine, print } from '../contest.ts';
import { compareWithBare, renderCompared } from './compare.ts';

const ROUTERS = Number(process.argv[2] ?? 200);
const INTERVAL_MS = 5000;
const IDLE_MS = 1000;

const isClosing = process.argv[3] === 'closing';
const simulated = isClosing ? { idleMs: IDLE_MS } : {};
const compared = await compareWithBare({ routers: ROUTERS, intervalMs: INTERVAL_MS, kind: 'status', simulated });
print(
  `${describeMachine()}; ${ROUTERS} routers${isClosing ? ' that close after every turn' : ''}, a turn of ${compared.requests} requests, ${compared.changing} of them changing.`,
  '',
  renderCompared(compared),
);
