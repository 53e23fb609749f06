import { DashboardLinkBuilder, DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';

/** What the dashboards are called in addresses. They stay the same for good: bookmarks and links of others hold them. */
export const UIDS = {
  fleet: 'router-exporter-fleet',
  router: 'router-exporter-router',
  cellular: 'router-exporter-cellular',
  logs: 'router-exporter-logs',
  agent: 'router-exporter-agent',
} as const;
export type DashboardName = keyof typeof UIDS;

/** The tag of all of them. */
export const TAG = 'router-exporter';

const TITLES: Readonly<Record<DashboardName, string>> = {
  fleet: 'Fleet',
  router: 'Router',
  cellular: 'Cellular',
  logs: 'Logs',
  agent: 'Agent',
};

/** Links in the head of a dashboard to all others, with what the reader has picked and the time that is shown. */
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

/** Where the values of a link's variables come from: a column of the table, or a label of the series. */
export type LinkOrigin = 'column' | 'label';

/** A link from a value to what it is about. `job`, data source and the time that is shown go with it. */
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

/** `variables`: those that the dashboard has and that of the router has, too. */
export function linkToRouter(origin: LinkOrigin, variables: readonly string[] = ['site']): DashboardLinkBuilder {
  return createDataLink(`Router \${${originOf(origin)}.router}`, 'router', origin, ['router'], variables);
}

export function linkToLogs(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink(`Logs of \${${originOf(origin)}.router}`, 'logs', origin, ['router'], ['site']);
}

/** From the dashboard of a router: to its lines, with the Loki that is picked there. */
export function linkToLogsOf(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink('Lines of this log', 'logs', origin, ['component'], ['loki', 'site', 'router']);
}

export function linkToSite(origin: LinkOrigin): DashboardLinkBuilder {
  return createDataLink(`Site \${${originOf(origin)}.site}`, 'fleet', origin, ['site'], []);
}
