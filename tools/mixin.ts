/**
 * Writes deploy/mixin/rules.json from deploy/prometheus/: `npm run mixin` runs it, and a test compares the result. Expressions
 * and descriptions become formats of Jsonnet, with places for what `_config` of mixin.libsonnet sets.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}
interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

/** Thresholds of `_config`: alert, name, and what is around the number in its expression and, if it is there, in its description. */
const THRESHOLDS: readonly (readonly [alert: string, name: string, expr: string, description?: string])[] = [
  ['RouterTemperatureHigh', 'temperatureCelsius', '> 80', 'more than 80 °C'],
  ['RouterSupplyVoltageLow', 'supplyVolts', '< 10', 'less than 10 V'],
  ['RouterLogLagging', 'logLagSeconds', '> 3600'],
  ['RouterSinkLagging', 'sinkLagSeconds', '> 3600'],
  ['RouterSpoolFilling', 'spoolRatio', '> 0.8'],
  ['RouterRebootLoop', 'rebootsIn6Hours', '> 3'],
  ['RouterFirmwareMixed', 'firmwareVersions', '> 3', 'more than 3.'],
];

/** Names of `_config.thresholds` with their defaults, as the shipped rules have them. */
export const THRESHOLD_DEFAULTS: Readonly<Record<string, number>> = Object.fromEntries(
  THRESHOLDS.map(([, name, expr]) => [name, Number(/[\d.]+$/.exec(expr)?.[0])]),
);

/** Renders rules.json. Throws if a threshold is not in its alert. */
export function renderMixinRules(): string {
  const [alerts, rules] = ['alerts', 'rules'].map((name) => {
    const { groups } = parse(readFileSync(`deploy/prometheus/${name}.yaml`, 'utf8')) as RuleFile;
    return groups.map((group) => ({ ...group, rules: group.rules.map(toFormat) }));
  });
  const text = `${JSON.stringify({ thresholds: THRESHOLD_DEFAULTS, alerts, rules }, null, 2)}\n`;
  for (const [alert, name] of THRESHOLDS) {
    if (!text.includes(`%(${name})g`)) throw new RangeError(`${alert} has no ${name}`);
  }
  return text;
}

function toFormat(rule: Rule): Rule {
  let expr = addSelectors(rule.expr.replaceAll('%', '%%'));
  let description = rule.annotations?.['description']?.replaceAll('%', '%%');
  for (const [alert, name, inExpr, inDescription] of THRESHOLDS) {
    // Some alerts have a second expression, without this number.
    if (alert !== rule.alert || !expr.includes(inExpr)) continue;
    const toPlace = (text: string) => text.replace(/\d[\d.]*\d|\d/, `%(${name})g`);
    expr = expr.replaceAll(inExpr, toPlace(inExpr));
    if (inDescription === undefined) continue;
    if (description?.includes(inDescription) !== true) throw new RangeError(`${alert} does not say "${inDescription}"`);
    description = description.replace(inDescription, toPlace(inDescription));
  }
  if (description === undefined) return { ...rule, expr };
  return { ...rule, expr, annotations: { ...rule.annotations, description } };
}

/** Adds a place for `_config.selector` to every selector, except of series that rules record, which come from those. */
function addSelectors(expr: string): string {
  const places: { readonly at: number; readonly text: string }[] = [];
  parser.parse(expr.replaceAll('%%', '% ')).iterate({
    enter({ type, node }) {
      if (type.name !== 'VectorSelector') return;
      const text = expr.slice(node.from, node.to);
      if (/^[a-z_]+:/.test(text)) return;
      places.push(
        text.endsWith('}') ? { at: node.to - 1, text: '%(andSelector)s' } : { at: node.to, text: '%(onlySelector)s' },
      );
    },
  });
  return places.reduceRight((done, { at, text }) => done.slice(0, at) + text + done.slice(at), expr);
}

if (import.meta.main) writeFileSync('deploy/mixin/rules.json', renderMixinRules());
