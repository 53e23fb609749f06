import { expect, test } from 'vitest';
import { readCatalogue, readLineLabels } from './catalogue.ts';
import { checkLogQl } from './check-logql.ts';
import { checkPromQl } from './check-promql.ts';
import { listPanels, listQueries, listVariables, readDashboards, replaceVariables } from './read-dashboards.ts';

const catalogue = await readCatalogue();
const lineLabels = readLineLabels();
const dashboards = [...readDashboards()];

/** What a query looks like when everything is picked; for the eyes of a parser. */
const VALUES = {
  ...Object.fromEntries(
    dashboards.flatMap(([, { templating }]) => templating.list.map(({ name }) => [name, '.*'] as const)),
  ),
  __interval: '1m',
  __rate_interval: '4m',
  __range: '6h',
  __range_s: '21600',
  __auto: '1m',
};

test.for(dashboards)('every query of %s parses and names nothing that does not exist', ([name, dashboard]) => {
  const queries = listQueries(name, dashboard);
  expect(queries.length).toBeGreaterThan(10);
  const faults = queries.flatMap(({ where, language, expr }) => {
    const text = replaceVariables(expr, VALUES);
    const found = language === 'promql' ? checkPromQl(text, catalogue) : checkLogQl(text, lineLabels);
    return found.map((fault) => `${where}: ${fault}`);
  });
  expect(faults).toEqual([]);
});

test.for(dashboards)(
  '%s uses no variable that it does not have, and has none that it does not use',
  ([, dashboard]) => {
    const own = dashboard.templating.list.map(({ name }) => name);
    const used = new Set(listVariables(JSON.stringify(dashboard)).filter((name) => !name.startsWith('__')));
    expect([...used].toSorted()).toEqual(own.toSorted());
  },
);

test('the panels of the agent and the fleet cover what the catalogue says about the agent itself', () => {
  const asked = dashboards
    .flatMap(([name, dashboard]) => listQueries(name, dashboard).map(({ expr }) => expr))
    .join('\n');
  const unseen = [...catalogue.keys()].filter(
    (name) => name.startsWith('router_exporter_') && !asked.includes(name.replace(/_(sum|count)$/, '')),
  );
  expect(unseen).toEqual([]);
});

test('no panel asks for every series of a router: what is not joined or ranked is an aggregate', () => {
  const perRouterOnly = new Set(['router']);
  const raw = dashboards
    .filter(([name]) => !perRouterOnly.has(name))
    .flatMap(([name, dashboard]) =>
      listPanels(dashboard).flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ where: `${name} / ${title}`, expr })),
      ),
    )
    .filter(({ expr }) => /^router_\w+\{[^}]*\}( [<>=!]+ \S+)?$/.test(expr));
  expect(raw).toEqual([]);
});

test.for<[string, string]>([
  ['router_upp{job="x"}', 'there is no metric router_upp'],
  ['sum(router_up{', 'syntax'],
  ['rate(router_up[$__rate_interval])', 'syntax'],
  ['router_up{component="x"}', 'router_up has no label component'],
  ['router_exporter_sink_up{site="x"}', 'router_exporter_sink_up has no label site'],
  ['sum by (componnet) (router_log_lines_total)', 'has the label componnet'],
  ['router_up * on (job, modem) group_left () router_modem_info', 'has the label modem'],
  ['router_modem_online * on (router, modem) group_left (operator) router_modem_info', 'has the label operator'],
  ['count({__name__=~"router_up|router_down"})', 'there is no metric router_down'],
])('the checker of PromQL finds what is wrong with %s', ([expr, fault]) => {
  expect(checkPromQl(expr, catalogue).join('\n')).toContain(fault);
});

test.for([
  'sum by (component) (rate(router_log_lines_total{site=~".*"}[5m]))',
  'histogram_quantile(0.9, sum by (le) (rate(router_exporter_schedule_lag_seconds_bucket[5m])))',
  'router_modem_online * on (router, modem) group_left (provider_name) max by (router, modem, provider_name) (router_modem_info)',
])('the checker of PromQL finds nothing wrong with %s', (expr) => {
  expect(checkPromQl(expr, catalogue)).toEqual([]);
});

test.for<[string, string]>([
  ['{service_name="x"', 'syntax'],
  ['{service_name="x"} | routr="a"', 'lines have no label routr'],
  ['{service_name="x", router="a"}', 'not every stream has the label router'],
  ['{service_name="x", shard="1"}', 'not every stream has the label shard'],
  ['sum by (levle) (count_over_time({service_name="x"} [5m]))', 'lines have no label levle'],
  ['{service_name="x"} | line_format "{{.Router}}"', 'lines have no label Router'],
])('the checker of LogQL finds what is wrong with %s', ([expr, fault]) => {
  expect(checkLogQl(expr, lineLabels).join('\n')).toContain(fault);
});

test('the checker of LogQL finds nothing wrong with a filter on what both layouts have', () => {
  expect(checkLogQl('{service_name="x", site=~".*"} | router=~"a|b" | level="error" |~ `x`', lineLabels)).toEqual([]);
});

test('replaceVariables() puts values in as Grafana does, and throws for a variable that has none', () => {
  expect(replaceVariables('x{a=~"$job"}[$__range:$__interval] ${job:queryparam}', { ...VALUES, job: 'one' })).toBe(
    'x{a=~"one"}[6h:1m] one',
  );
  expect(() => replaceVariables('x{a=~"$jobb"}', { job: 'one' })).toThrow('$jobb');
});
