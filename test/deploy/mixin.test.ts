import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderMixinRules, THRESHOLD_DEFAULTS } from '../../tools/mixin.ts';
import { readDashboards } from '../dashboards/read-dashboards.ts';
import { withPrograms } from '../support/tools.ts';
import { PROMETHEUS_FOLDER } from './rules-files.ts';

const MIXIN = fileURLToPath(new URL('../../deploy/mixin', import.meta.url));
const read = (name: string): unknown => parse(readFileSync(`${PROMETHEUS_FOLDER}/${name}.yaml`, 'utf8'));

interface Made {
  readonly alerts: {
    readonly groups: readonly {
      readonly rules: readonly { expr: string; annotations: Readonly<Record<string, string>>; alert: string }[];
    }[];
  };
  readonly rules: unknown;
  readonly dashboards: Readonly<Record<string, unknown>>;
}

/** What Jsonnet makes of the mixin with this configuration. */
function compile(config: object = {}): Made {
  const mixin = `((import 'mixin.libsonnet') { _config+:: ${JSON.stringify(config).replace('"thresholds":', 'thresholds+:')} })`;
  const program = `local m = ${mixin}; { alerts: m.prometheusAlerts, rules: m.prometheusRules, dashboards: m.grafanaDashboards }`;
  const { status, stdout, stderr } = spawnSync('jsonnet', ['--exec', program], {
    cwd: MIXIN,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as Made;
}

test('deploy/mixin/rules.json is what `npm run mixin` makes of the rules', () => {
  expect(JSON.parse(readFileSync(join(MIXIN, 'rules.json'), 'utf8'))).toEqual(JSON.parse(renderMixinRules()));
  const page = readFileSync(join(MIXIN, 'README.md'), 'utf8');
  for (const name of Object.keys(THRESHOLD_DEFAULTS)) expect(page).toContain(`\`${name}\``);
});

withPrograms(['jsonnet'], test)('the mixin makes what is shipped', () => {
  const { alerts, rules, dashboards } = compile();
  expect(alerts).toEqual(read('alerts'));
  expect(rules).toEqual(read('rules'));
  const shipped = [...readDashboards()].map(([name, dashboard]) => [`router-exporter-${name}.json`, dashboard]);
  expect(dashboards).toEqual(Object.fromEntries(shipped));
});

withPrograms(['jsonnet', 'promtool'], test)(
  'the mixin makes rules for selected series, with thresholds and addresses of its configuration',
  () => {
    const thresholds = Object.fromEntries(Object.keys(THRESHOLD_DEFAULTS).map((name, index) => [name, 700 + index]));
    const { alerts, rules } = compile({
      selector: 'job="routers", env="a"',
      thresholds,
      runbookUrl: 'https://docs.example.net/',
      dashboardUrl: 'https://grafana.example.net',
    });
    const all = alerts.groups.flatMap((group) => group.rules);
    const find = (name: string) => all.find(({ alert }) => alert === name);
    expect(find('RouterSinkDown')?.expr).toBe('router_exporter_sink_up{job="routers", env="a"} == 0');
    expect(find('RouterDeadLetters')?.expr).toContain('{result=~"dead_letter|rejected", job="routers", env="a"}[1h]');
    expect(find('RouterTemperatureHigh')?.annotations['description']).toContain(
      `more than ${thresholds['temperatureCelsius']} °C`,
    );
    for (const [name, value] of Object.entries(thresholds)) {
      expect([name, all.some(({ expr }) => expr.includes(` ${value}`))]).toEqual([name, true]);
    }
    for (const { annotations } of all) {
      expect(annotations['runbook_url']).toMatch(/^https:\/\/docs\.example\.net\/docs\/runbooks\//);
      expect(annotations['dashboard_url']).toMatch(
        /^https:\/\/grafana\.example\.net\/d\/router-exporter-(fleet|cellular|logs|agent)$/,
      );
    }
    const folder = mkdtempSync(join(tmpdir(), 'router-exporter-mixin-'));
    try {
      for (const [name, content] of Object.entries({ alerts, rules })) {
        const file = join(folder, `${name}.json`);
        writeFileSync(file, JSON.stringify(content));
        const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', '--lint-fatal', file], {
          encoding: 'utf8',
        });
        expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
