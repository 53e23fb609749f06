import { expect, test } from 'vitest';
import { startPrometheus } from '../support/prometheus-server.ts';
import { withPrograms } from '../support/tools.ts';
import { startLivelyFleet } from './lively-fleet.ts';
import {
  listColumnLabels,
  listPanels,
  listQueries,
  type QueryOfDashboard,
  readDashboards,
  replaceVariables,
} from './read-dashboards.ts';

/** Queries that give nothing here, and why that is right. By the panel, or the panel and the query. */
const MAY_BE_EMPTY: Readonly<Record<string, string>> = {
  'agent / Routers of sources, query A': 'the routers here come from no source',
  'agent / Sources read last, query A': 'the routers here come from no source',
  ...Object.fromEntries(
    ['Replicas of the cluster', 'Routers of each replica', 'Age of leases'].flatMap((panel) =>
      (panel === 'Replicas of the cluster' ? 'ABCD' : panel === 'Age of leases' ? 'A' : 'AB')
        .split('')
        .map((query) => [`agent / ${panel}, query ${query}`, 'the agents here are no replicas of a cluster']),
    ),
  ),
  'agent / Routers with series that are left out, query A': 'no router here has more than 2000 series',
};

const ANY = { where: '', dashboard: '', panel: '', language: 'promql', isRange: false, shownLabels: [] } as const;

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly data?: { readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[] };
}

/** Everything is picked, and the time that is shown is that of the test. */
const VALUES = {
  ...Object.fromEntries(
    ['instance', 'site', 'router', 'component', 'provider_name', 'access_technology'].map((name) => [name, '.*']),
  ),
  job: 'routers',
  __interval: '1s',
  __rate_interval: '10s',
  __range: '30s',
  __range_s: '30',
};

/** Asks a Prometheus what a panel asks it. */
async function ask(address: string, { expr, isRange }: QueryOfDashboard): Promise<Answer> {
  const now = Math.floor(Date.now() / 1000);
  const query = replaceVariables(expr, VALUES);
  const body = new URLSearchParams(
    isRange ? { query, start: String(now - 15), end: String(now), step: '1' } : { query },
  );
  const path = isRange ? 'query_range' : 'query';
  const response = await fetch(`http://${address}/api/v1/${path}`, { method: 'POST', body });
  return (await response.json()) as Answer;
}

withPrograms(['prometheus'], test)(
  'every query of the dashboards runs on a Prometheus that scrapes a fleet, and gives the series and labels that are shown',
  { timeout: 120_000 },
  async () => {
    await using fleet = await startLivelyFleet();
    await using server = await startPrometheus({
      job_name: 'routers',
      scrape_interval: '1s',
      static_configs: [{ targets: [fleet.url.replace('http://', '')] }],
    });
    const dashboards = [...readDashboards()];
    const queries = dashboards
      .flatMap(([name, dashboard]) => listQueries(name, dashboard))
      .filter(({ language }) => language === 'promql');
    expect(queries.length).toBeGreaterThan(150);
    const answers = new Map<string, Answer>();
    const isAnswered = ({ where }: QueryOfDashboard) => (answers.get(where)?.data?.result.length ?? 0) > 0;
    const unanswered = () => queries.filter((query) => !isAnswered(query)).map(({ where }) => where);

    // Else what happens next happens before the first scrape.
    const routers: QueryOfDashboard = { ...ANY, expr: 'router_up' };
    await expect.poll(async () => (await ask(server.address, routers)).data?.result.length, { interval: 200 }).toBe(8);
    await expect
      .poll(
        async () => {
          await fleet.goOn();
          for (const query of queries.filter((one) => !isAnswered(one)))
            answers.set(query.where, await ask(server.address, query));
          return unanswered();
        },
        { timeout: 60_000, interval: 200 },
      )
      .toEqual(Object.keys(MAY_BE_EMPTY));

    const faults = [...answers].filter(([, { status, warnings }]) => status !== 'success' || warnings);
    expect(faults).toEqual([]);
    for (const { where, shownLabels } of queries) {
      const labels = answers.get(where)?.data?.result.flatMap(({ metric }) => Object.keys(metric)) ?? [];
      if (labels.length > 0)
        expect({ where, labels }).toEqual({ where, labels: expect.arrayContaining([...shownLabels]) });
    }
    for (const [name, dashboard] of dashboards) {
      for (const panel of listPanels(dashboard).filter(({ type }) => type === 'table')) {
        const labels = [...answers]
          .filter(([where]) => where.startsWith(`${name} / ${panel.title}, `))
          .flatMap(([, { data }]) => data?.result.flatMap(({ metric }) => Object.keys(metric)) ?? []);
        if (labels.length > 0) {
          expect({ panel: panel.title, labels }).toEqual({
            panel: panel.title,
            labels: expect.arrayContaining([...listColumnLabels(panel)]),
          });
        }
      }
    }
  },
);
