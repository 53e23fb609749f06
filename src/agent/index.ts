/**
 * agent: the steward.
 *
 * Owns: building the rooms, introducing them to each other, starting and stopping them in order, and turning what they
 * report into log lines and counters.
 * Does not own: any of the work itself.
 * Start reading at: agent.ts for the order in which everything comes to be, plan.ts for what a configuration does to it.
 *
 *   routers/  the fleet, and what is done with one router again and again
 *   sinks/    delivery to each sink at its own pace
 *   stats/    what happened to a router: the table of events, and what series, log and pages say
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
export { renderMetricsReference } from './metrics/metrics-reference.ts';
export { readRouterTime, TIME_RESOURCE, toRouterTime } from './routers/router-time.ts';
