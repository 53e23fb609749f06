import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { withPrograms } from '../support/tools.ts';
import { listAlerts, PROMETHEUS_FOLDER, readShippedRules } from './rules-files.ts';

const EXAMPLE = `${PROMETHEUS_FOLDER}/examples/alertmanager.yaml`;

interface AlertmanagerConfig {
  readonly inhibit_rules: readonly {
    readonly source_matchers: readonly string[];
    readonly target_matchers: readonly string[];
    readonly equal: readonly string[];
  }[];
}

function checkWith(change: (text: string) => string): number | null {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-alertmanager-'));
  try {
    writeFileSync(join(folder, 'alertmanager.yaml'), change(readFileSync(EXAMPLE, 'utf8')));
    return spawnSync('amtool', ['check-config', join(folder, 'alertmanager.yaml')]).status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Names of alerts that a matcher of `alertname` takes, of those that exist. */
function select(matchers: readonly string[], alerts: readonly string[]): readonly string[] {
  return matchers.reduce<readonly string[]>((left, matcher) => {
    const [, operator = '', value = ''] = /^alertname (=|=~|!=|!~) "(.*)"$/.exec(matcher) ?? [];
    if (operator === '') return left;
    const isMatch = (name: string) =>
      operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(name) : name === value;
    return left.filter((name) => isMatch(name) !== operator.startsWith('!'));
  }, alerts);
}

withPrograms(['amtool'], test)('amtool accepts the example for the Alertmanager, and refuses one with a fault', () => {
  expect(checkWith((text) => text)).toBe(0);
  expect(checkWith((text) => text.replace('receiver: pager', 'receiver: peger'))).not.toBe(0);
  expect(checkWith((text) => text.replace('group_wait:', 'group_weit:'))).not.toBe(0);
  expect(checkWith((text) => text.replace('[maintenance]', '[maintenence]'))).not.toBe(0);
  expect(checkWith((text) => text.replace('"RouterDown"', 'RouterDown"'))).not.toBe(0);
});

withPrograms(['amtool'], test)(
  'the example wakes somebody for what is critical, and tells nobody what is for information',
  () => {
    const route = (...labels: string[]) =>
      spawnSync('amtool', ['config', 'routes', 'test', `--config.file=${EXAMPLE}`, ...labels], {
        encoding: 'utf8',
      }).stdout.trim();
    expect(route('alertname=RouterSiteDown', 'severity=critical')).toBe('pager');
    expect(route('alertname=RouterDown', 'severity=warning')).toBe('team');
    expect(route('alertname=RouterConfigChanged', 'severity=warning')).toBe('team');
    expect(route('alertname=RouterRebooted', 'severity=info')).toBe('nobody');
  },
);

test('every name and pattern in the inhibitions of the example matches alerts that exist, and never the source itself', () => {
  const { inhibit_rules: rules } = parse(readFileSync(EXAMPLE, 'utf8')) as AlertmanagerConfig;
  const alerts = listAlerts(readShippedRules());
  for (const { source_matchers: source, target_matchers: target } of rules) {
    for (const matcher of [...source, ...target]) {
      const [, names] = /^alertname =~? "([\w|]+)"$/.exec(matcher) ?? [];
      for (const name of names?.split('|') ?? []) expect(alerts).toContain(name);
    }
    const targets = select(target, alerts);
    expect(targets.length).toBeGreaterThan(0);
    // With the same name, another label tells them apart.
    const both = select(source, alerts).filter((name) => targets.includes(name));
    expect(both.filter((name) => name !== 'RouterFleetDegraded')).toEqual([]);
  }
  const silencers = (name: string) =>
    rules
      .filter(({ target_matchers: target }) => select(target, alerts).includes(name))
      .flatMap(({ source_matchers: source }) => select(source, alerts));
  expect(silencers('RouterDown')).toEqual(['RouterAgentDown', 'RouterSiteDown', 'RouterCarrierOutage']);
  expect(silencers('RouterAgentDown')).toEqual([]);
  expect(silencers('RouterLogGap')).toEqual(['RouterAgentDown']);
});

withPrograms(['promtool'], test)('promtool accepts both examples for Prometheus, with the rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-scrape-'));
  try {
    for (const name of ['prometheus', 'prometheus-sd']) {
      const text = readFileSync(`${PROMETHEUS_FOLDER}/examples/${name}.yaml`, 'utf8');
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, text.replace('/etc/prometheus/router-exporter/', `${PROMETHEUS_FOLDER}/`));
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', file], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout.match(/SUCCESS: \d+ rules found/g)).toHaveLength(2);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
