import { DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';

/** Ids of the dashboards in URLs. Never changed, because bookmarks and external links contain them. */
export const UIDS = {
  fleet: 'router-exporter-fleet',
  router: 'router-exporter-router',
  cellular: 'router-exporter-cellular',
  logs: 'router-exporter-logs',
  agent: 'router-exporter-agent',
} as const;
export type DashboardName = keyof typeof UIDS;

/** Tag of all dashboards. */
export const TAG = 'router-exporter';

const TITLES: Readonly<Record<DashboardName, string>> = {
  fleet: 'Fleet',
  router: 'Router',
  cellular: 'Cellular',
  logs: 'Logs',
  agent: 'Agent',
};

/** Creates the links at the top of a dashboard to all others, with the selected variables and time range. */
export function createHeadLinks(from: DashboardName): DashboardLinkBuilder[] {
  return (Object.keys(UIDS) as DashboardName[])
    .filter((name) => name !== from)
    .map((name) =>
      new DashboardLinkBuilder(TITLES[name])
        .type(DashboardLinkType.Link)
        .icon('dashboard')
        .tooltip(`Dashboard ${TITLES[name]}, for the same variables and time`)
        .url(`/d/${UIDS[name]}`)
        .includeVars(true)
        .keepTime(true),
    );
}

/** Source of the values of a link's variables: a column of the table, or a label of the series. */
export type LinkOrigin = 'column' | 'label';

/** Creates a link from a value to a dashboard, with `job`, data source and time range. */
function createDataLink(
  title: string,
  to: DashboardName,
  origin: LinkOrigin,
  labels: readonly string[],
  variables: readonly string[],
): DashboardLinkBuilder {
  const picked = labels.map((label) => `var-${label}=\${${originOf(origin)}.${label}:percentencode}`);
  const carried = ['datasource', 'job', ...variables].map((name) => `\${${name}:queryparam}`);
  const query = [...picked, ...carried, '${__url_time_range}'].join('&');
  return new DashboardLinkBuilder(title).type(DashboardLinkType.Link).url(`/d/${UIDS[to]}?${query}`);
}

function originOf(origin: LinkOrigin): string {
  return origin === 'column' ? '__data.fields' : '__field.labels';
}

/** Creates a link to the dashboard of a router. `variables`: those that both dashboards have. */
export function linkToRouter(origin: LinkOrigin, variables: readonly string[] = ['site']): DashboardLinkBuilder {
  return createDataLink(`Router \${${originOf(origin)}.router}`, 'router', origin, ['router'], variables);
}

export function linkToLogs(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink(`Logs of \${${originOf(origin)}.router}`, 'logs', origin, ['router'], ['site']);
}

/** Creates a link from the dashboard of a router to its log lines, with the selected Loki. */
export function linkToLogsOf(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink('Lines of this log', 'logs', origin, ['component'], ['loki', 'site', 'router']);
}

export function linkToSite(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink(`Site \${${originOf(origin)}.site}`, 'fleet', origin, ['site'], []);
}
