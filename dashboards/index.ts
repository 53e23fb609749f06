/**
 * dashboards: the Grafana dashboards of routers and agents, as code.
 *
 * `npm run dashboards` writes json/, and grafana-com/ for the catalogue of Grafana; tests compare. Start reading at fleet.ts; kit/ has the parts of panels.
 */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { createAgentDashboard } from './agent.ts';
import { createCellularDashboard } from './cellular.ts';
import { createFleetDashboard } from './fleet.ts';
import type { DashboardName } from './kit/index.ts';
import { createLogsDashboard } from './logs.ts';
import { createRouterDashboard } from './router.ts';

export { toGrafanaCom } from './grafana-com.ts';

/** Creates all dashboards, by name, which is also their file name. */
export function createDashboards(): Readonly<Record<DashboardName, Dashboard>> {
  return {
    fleet: createFleetDashboard(),
    router: createRouterDashboard(),
    cellular: createCellularDashboard(),
    logs: createLogsDashboard(),
    agent: createAgentDashboard(),
  };
}
