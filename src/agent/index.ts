/**
 * agent: the composition root.
 *
 * Owns: creating and connecting the other modules, starting and stopping them in order, and turning their
 * events into log lines and counters.
 * Does not own: any of the work itself.
 * Start reading at: agent.ts for the start, plan.ts for what a configuration changes.
 *
 *   routers/  the fleet, and the recurring activities of one router
 *   sinks/    delivery to each sink at its own pace
 *   stats/    events of a router: the table of their effects on series, log and pages
 *   metrics/  every family of the agent, and their reference
 */
export {
  type Agent,
  type AgentOptions,
  type AgentSummary,
  type AgentWebOptions,
  startAgent,
} from './agent.ts';
export { AGENT_FAMILIES } from './metrics/fleet-families.ts';
export { readRouterTime, TIME_RESOURCE, toRouterTime } from './routers/router-time.ts';
export type { CycleResult } from './run-cycle.ts';
