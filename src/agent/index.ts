/**
 * agent: the composition root.
 *
 * Owns: creating and connecting the other modules, starting and stopping them in order, and turning their
 * events into log lines and counters.
 * Does not own: any of the work itself.
 * Start reading at: agent.ts for the start, plan.ts for what a configuration changes, router-state/router-state.ts for a router.
 *
 *   routers/       the fleet, and the recurring activities of one router
 *   router-state/  what is known of one router: the reducer of its events, and metrics, log lines and pages made from its state
 *   sinks/         delivery to each sink at its own pace
 *   cluster/       the share of this process in a cluster
 *   views/         log lines and counts of the fleet for the pages
 *   metrics/       every family of the agent
 */
export {
  type Agent,
  type AgentOptions,
  type AgentSummary,
  type AgentWebOptions,
  startAgent,
} from './agent.ts';
export { AGENT_FAMILIES } from './metrics/fleet-families.ts';
export { readRouterTime, TIME_RESOURCE, toRouterTime } from './routers/log-reading.ts';
export type { CycleResult } from './run-cycle.ts';
