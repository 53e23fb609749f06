import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { expect, test } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import { toLokiEntry } from '../../src/sinks/types/loki/push.ts';
import { type Catalogue, readCatalogue, readLineLabels } from '../dashboards/catalogue.ts';
import { checkLogQl } from '../dashboards/check-logql.ts';
import { checkPromQl } from '../dashboards/check-promql.ts';
import { LOKI_RULES, listYaml, PROJECT_FOLDER, readRules, readSettingsRules, readShippedRules } from './rules-files.ts';

/** The label by which an operator marks routers that must not be down. */
const TIER = 'tier';

const GAP: LogRecord = {
  observed_timestamp: '2025-10-26T01:00:31.412Z',
  router: 'plant-7',
  component: 'network',
  message: 'Log lines are missing',
  uid: 'dxn3cch3gcyxg4l2-00000e4e',
  file: 'network/current',
  offset: 18302,
  flags: ['late'],
  event: 'log.gap',
  details: { certainty: 'certain', reason: 'expired' },
};

/** Labels that a comparison leaves out stand on one side only. */
function check(expr: string, catalogue: Catalogue): readonly string[] {
  return checkPromQl(expr.replaceAll(/ignoring \([^)]*\)/g, 'ignoring ()'), catalogue);
}

/** What the product serves, the label of important routers, and what the rules record. */
async function readCatalogueWithRecords(): Promise<Catalogue> {
  const catalogue = new Map(
    [...(await readCatalogue())].map(([name, labels]) => [
      name,
      labels.has('router') ? new Set([...labels, TIER]) : labels,
    ]),
  );
  // Which labels a record has is tested by promtool.
  const every = new Set(['operator', ...[...catalogue.values()].flatMap((labels) => [...labels])]);
  const records = [...readShippedRules(), ...readSettingsRules()].flatMap(({ record }) => record ?? []);
  for (const record of records) catalogue.set(record, every);
  return catalogue;
}

/** The expression with another metric in its first selector. */
function plantMetric(expr: string, name: string): string {
  let planted: string | undefined;
  parser.parse(expr).iterate({
    enter({ type, node }) {
      const metric = type.name === 'VectorSelector' ? node.getChild('Identifier') : null;
      if (metric) planted ??= `${expr.slice(0, metric.from)}${name}${expr.slice(metric.to)}`;
    },
  });
  return planted ?? expr;
}

test('every metric and label in the rules exists in the catalogue of the product', async () => {
  const catalogue = await readCatalogueWithRecords();
  const rules = readShippedRules();
  expect(rules.length).toBeGreaterThan(80);
  for (const { alert, record, expr } of rules) {
    expect({ rule: alert ?? record, faults: check(expr, catalogue) }).toEqual({
      rule: alert ?? record,
      faults: [],
    });
  }
});

test('a metric, label or expression that is wrong is found in every rule', async () => {
  const catalogue = await readCatalogueWithRecords();
  for (const { expr } of readShippedRules()) {
    const planted = plantMetric(expr, 'router_planted');
    expect(planted).not.toBe(expr);
    expect(check(planted, catalogue)).toContain('there is no metric router_planted');
    expect(check(`${expr} +`, catalogue)).not.toEqual([]);
  }
  expect(check('router_up{tire="critical"} == 0', catalogue)).toEqual(['router_up has no label tire']);
});

test('every series in the tests for promtool exists in the catalogue of the product', async () => {
  const catalogue = await readCatalogueWithRecords();
  for (const file of listYaml(`${PROJECT_FOLDER}/deploy/prometheus/tests`)) {
    const series = [...readFileSync(file, 'utf8').matchAll(/series: '([\w:]+)(\{[^}]*\})/g)];
    expect(series.length).toBeGreaterThan(0);
    for (const [, name = '', labels = ''] of series) {
      // Series of other programs stand in the tests to be ignored.
      if (!labels.includes('job="node"')) expect([file, check(`${name}${labels}`, catalogue)]).toEqual([file, []]);
    }
  }
});

test('every rule for Loki asks for labels and metadata that the sink sends', () => {
  const { stream, line } = readLineLabels();
  // Lines that are late have a label `lane`, so that one without it is matched by the empty text.
  const late = toLokiEntry(GAP, { kind: 'shard', shards: 8 });
  expect(late.labels).toHaveProperty('lane', 'late');
  const known = { stream: new Set([...stream, 'lane']), line: new Set([...line, ...Object.keys(late.metadata)]) };
  const rules = readRules(LOKI_RULES);
  expect(rules.length).toBeGreaterThan(5);
  for (const { alert, record, expr } of rules) {
    const rule = alert ?? record;
    expect({ rule, faults: checkLogQl(expr, known) }).toEqual({ rule, faults: [] });
    expect(checkLogQl(expr.replace(/service_name/, 'service'), known)).not.toEqual([]);
    expect(checkLogQl(expr.replace('{service_name', 'service_name'), known)).not.toEqual([]);
  }
});

test('the two alerts on gaps leave out the same reasons and certainties', () => {
  const find = (alert: string) =>
    [...readShippedRules(), ...readRules(LOKI_RULES)].find((rule) => rule.alert === alert)?.expr;
  const [metrics, records] = [find('RouterLogGap'), find('RouterLogGapRecorded')];
  for (const left of ['certainty!="possible"', 'reason!~"skipped|paused"']) {
    expect(metrics).toContain(left);
    expect(records).toContain(`details_${left}`);
  }
});
