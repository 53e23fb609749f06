import { AnnotationQueryBuilder, type Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as kit from './kit/index.ts';
import { cellular, interfaces, system } from './router/links.ts';
import { logs } from './router/logs.ts';
import { identity, now, of, reachability } from './router/overview.ts';

function annotation(name: string, iconColor: string, expr: string, text: string): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(kit.PROMETHEUS)
    .enable(true)
    .iconColor(iconColor)
    .expr(expr)
    .step('60s')
    .titleFormat(name)
    .textFormat(text);
}

/** Creates the dashboard of one router. */
export function createRouterDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'router',
    title: 'Routers / Router',
    description: 'Everything about one router: why it is not up, its links, its system, its logs.',
    variables: [
      kit.datasourceVariable(),
      kit.lokiVariable(),
      kit.jobVariable(),
      kit.siteVariable(),
      kit.oneRouterVariable(),
    ],
    annotations: [
      annotation('Start of the router', 'orange', `${of('router_uptime_seconds')} < 300`, 'The router has started'),
      annotation(
        'Change of the configuration',
        'purple',
        `sum by (section, resource) (changes(${of('router_config_changes_total')}[5m])) > 0`,
        '{{section}} {{resource}}',
      ),
    ],
    from: 'now-6h',
    sections: [now, reachability, cellular, interfaces, system, identity, logs],
  });
}
