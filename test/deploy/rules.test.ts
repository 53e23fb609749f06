import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import {
  LOKI_RULES,
  listAlerts,
  listYaml,
  PROMETHEUS_FOLDER,
  type RuleTest,
  readRules,
  readShippedRules,
} from './rules-files.ts';

const TESTS = listYaml(`${PROMETHEUS_FOLDER}/tests`);
/** The expression that leaves out no alert. */
const EVERY_ALERT = /^count by \([\w, ]+\) \(ALERTS\{alertstate="firing"\}\)$/;
const SEVERITIES = ['critical', 'warning', 'info'];

function runPromtool(...args: string[]) {
  // It makes a store for each test, and would spend a fifth of its time on collecting them.
  const env = { ...process.env, GOGC: '400' };
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', env });
  return { status, output: `${stdout}${stderr}` };
}

/** What {@link runPromtool} says about these rules with one place changed. */
function checkWith(change: (text: string) => string) {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-rules-'));
  try {
    const file = join(folder, 'alerts.yaml');
    writeFileSync(file, change(readFileSync(`${PROMETHEUS_FOLDER}/alerts.yaml`, 'utf8')));
    return runPromtool('check', 'rules', '--lint=all', '--lint-fatal', file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

withPrograms(['promtool'], test)('promtool finds no fault in the rules', () => {
  const files = [...listYaml(PROMETHEUS_FOLDER), `${PROMETHEUS_FOLDER}/examples/settings.yaml`];
  for (const file of files) {
    const { status, output } = runPromtool('check', 'rules', '--lint=all', '--lint-fatal', file);
    expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(/SUCCESS: \d+ rules found/) });
  }
});

withPrograms(['promtool'], test)('promtool refuses rules with a fault', () => {
  const faults: readonly ((text: string) => string)[] = [
    (text) => text.replace('severity: warning', 'severity: ['),
    (text) => text.replace('router_flash_ok == 0', 'router_flash_ok =='),
    (text) => text.replace('runbook_url:', 'runbook-url:'),
    (text) => text.replace('for: 5m', 'for: 5 minutes'),
    (text) => text.replace('polls of router {{ $labels.router }}', 'polls of router {{ $labels.router'),
  ];
  for (const change of faults) expect(checkWith(change).status).not.toBe(0);
  expect(checkWith((text) => text).status).toBe(0);
});

withPrograms(['promtool'], test)(
  `every alert fires, and does not fire, as the tests for promtool say${sampleNote('tests of alerts')}`,
  { timeout: 240_000 },
  () => {
    const part = TESTS.filter((_file, index) => index % 8 === 3);
    const { status, output } = runPromtool('test', 'rules', ...sampled('tests of alerts', TESTS, part));
    expect({ status, output: output.replaceAll(/Unit Testing: .*\n +SUCCESS\n\n?/g, '') }).toEqual({
      status: 0,
      output: '',
    });
  },
);

test('every alert of Prometheus has a test for firing and one for staying silent, and both name all that fires', () => {
  const tests = TESTS.flatMap((file) => (parse(readFileSync(file, 'utf8')) as { tests: RuleTest[] }).tests);
  const fires: string[] = [];
  const silent: string[] = [];
  for (const { name, input_series: series, promql_expr_test: checks } of tests) {
    const [, subjects = '', verb = ''] = /^(Router[\w, ]+): (fires|warns|is silent|is critical)/.exec(name) ?? [];
    const all = checks.filter(({ expr }) => EVERY_ALERT.test(expr));
    const seen = all.flatMap(({ exp_samples: samples }) => samples.map(({ labels }) => labels)).join();
    for (const alert of subjects.split(', ').filter((subject) => subject !== '')) {
      const isNamed = checks.some(({ exp_samples: samples }) =>
        samples.some(({ labels }) => labels.includes(`alertname="${alert}"`)),
      );
      // More than the agent that every test has.
      if (verb === 'is silent') {
        expect({ name, seen, inputs: series.length }).not.toMatchObject({ inputs: 1 });
        expect(seen).not.toContain(`"${alert}"`);
        if (all.length > 0) silent.push(alert);
      } else if (isNamed) fires.push(alert);
    }
  }
  const alerts = listAlerts(readShippedRules()).toSorted();
  expect([...new Set(fires)].toSorted()).toEqual(alerts);
  expect([...new Set(silent)].toSorted()).toEqual(alerts);
  expect(alerts.length).toBeGreaterThan(40);
});

test('every alert has a severity, a summary, a description and a runbook, and says nothing of labels that it does not have', () => {
  const alerts = [...readShippedRules(), ...readRules(LOKI_RULES)].filter(({ alert }) => alert !== undefined);
  for (const { alert, labels = {}, annotations = {}, expr } of alerts) {
    expect(alert).toMatch(/^Router([A-Z][a-z]+)+$/);
    expect(SEVERITIES).toContain(labels['severity']);
    expect(Object.keys(annotations).toSorted()).toEqual(['description', 'runbook_url', 'summary']);
    // One message has all alerts of one name, and one summary.
    expect(annotations['summary']).toMatch(/^[A-Z][^{]*\.$/);
    const summaries = alerts.filter((one) => one.alert === alert).map((one) => one.annotations?.['summary']);
    expect(new Set(summaries).size).toBe(1);
    expect(annotations['description']).toContain('{{');
    expect(annotations['description']).toMatch(/^[A-Z{].*\.$/s);
    const used = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label]) => label ?? '');
    // Labels that the rule itself adds are not known to its templates.
    expect({ alert, used: used.filter((label) => label in labels) }).toEqual({ alert, used: [] });
    const kept = /^\s*(?:sum|count) by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ');
    if (kept) expect({ alert, used: used.filter((label) => !kept.includes(label)) }).toEqual({ alert, used: [] });
  }
});

test('names of recorded series say which labels are left, of which metric, and what was done to it', () => {
  for (const { record } of readShippedRules())
    if (record !== undefined) expect(record).toMatch(/^[a-z_]+(:[a-z_]+){1,2}[a-z\d_]*$/);
});
