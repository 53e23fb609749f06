/**
 * agent: the composition root.
 *
 * Owns: creating and connecting the other modules, starting and stopping them in order, the state of each router from
 * their events, and the log lines, metrics and pages made from it.
 * Does not own: requests, reading of logs, storing, delivery, serving.
 * Start reading at: agent.ts for the start, plan.ts for the effect of a configuration, router-state/router-state.ts for
 * a router.
 *
 *   routers/       the fleet, and the recurring activities of one router
 *   router-state/  the state of one router: the reducer of its events, and metrics, log lines and pages made from it
 *   sinks/         delivery to each sink, independent of the others
 *   views/         log lines and counts of the fleet for the pages
 *   metrics/       all metric families of the agent
 */
export {
  type Agent,
  type AgentOptions,
  type AgentSummary,
  type AgentWebOptions,
  startAgent,
} from './agent.ts';
export { AGENT_FAMILIES } from './metrics/fleet-families.ts';
export { DeviceFacts, InterfaceRates } from './router-state/device-facts.ts';
export { storePast } from './routers/past.ts';
export type { CycleResult } from './run-cycle.ts';
