/**
 * dashboards: what Grafana shows of routers and agents, as code.
 *
 * `npm run dashboards` writes json/; tests compare. Start reading at fleet.ts; what panels are made of is in kit/.
 */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { createAgentDashboard } from './agent.ts';
import { createCellularDashboard } from './cellular.ts';
import { createFleetDashboard } from './fleet.ts';
import type { DashboardName } from './kit/index.ts';
import { createLogsDashboard } from './logs.ts';
import { createRouterDashboard } from './router.ts';

/** All dashboards by name, which is that of their file, too. */
export function createDashboards(): Readonly<Record<DashboardName, Dashboard>> {
  return {
    fleet: createFleetDashboard(),
    router: createRouterDashboard(),
    cellular: createCellularDashboard(),
    logs: createLogsDashboard(),
    agent: createAgentDashboard(),
  };
}
