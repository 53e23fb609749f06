/**
 * agent: the steward.
 *
 * Owns: building the rooms, introducing them to each other, starting and stopping them in order, and turning what they
 * report into log lines and counters.
 * Does not own: any of the work itself.
 * Start reading at: agent.ts, then router-agent.ts.
 */
export {
  type Agent,
  type AgentOptions,
  type AgentSummary,
  type AgentWebOptions,
  startAgent,
} from './agent.ts';
export { AGENT_FAMILIES } from './agent-families.ts';
export { renderMetricsReference } from './metrics-reference.ts';
export { readRouterTime, TIME_RESOURCE, toRouterTime } from './router-time.ts';
