import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const PROMETHEUS_FOLDER = fileURLToPath(new URL('../../deploy/prometheus', import.meta.url));
export const LOKI_RULES = fileURLToPath(new URL('../../deploy/loki/rules.yaml', import.meta.url));
/** Where `runbook_url` starts. */
export const PROJECT_FOLDER = fileURLToPath(new URL('../..', import.meta.url));

/** One rule of a file for Prometheus or Loki: an alert, or a record. */
export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly interval?: string; readonly rules: readonly Rule[] }[];
}

/** One test of a file for `promtool test rules`. */
export interface RuleTest {
  readonly name: string;
  readonly input_series: readonly { readonly series: string }[];
  readonly promql_expr_test: readonly {
    readonly expr: string;
    readonly exp_samples: readonly { readonly labels: string }[];
  }[];
}

export function readRules(file: string): readonly Rule[] {
  return (parse(readFileSync(file, 'utf8')) as RuleFile).groups.flatMap(({ rules }) => rules);
}

/** The rules that Prometheus is meant to load, by the folder that is meant to be copied. */
export function readShippedRules(): readonly Rule[] {
  return listYaml(PROMETHEUS_FOLDER).flatMap(readRules);
}

export function readSettingsRules(): readonly Rule[] {
  return readRules(`${PROMETHEUS_FOLDER}/examples/settings.yaml`);
}

/** Names of alerts without repetition: one can have several severities. */
export function listAlerts(rules: readonly Rule[]): readonly string[] {
  return [...new Set(rules.flatMap(({ alert }) => alert ?? []))];
}

export function listYaml(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .toSorted()
    .map((name) => `${folder}/${name}`);
}
