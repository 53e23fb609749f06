import type { FamilyDescription, Labels, RouterIdentity } from '../model/index.ts';

/** `text` is the Prometheus text format 0.0.4, `openmetrics` is OpenMetrics 1.0.0. Samples are the same text in both. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** A label value is cut to this many characters: no real one comes close, and a hostile router must not fill memory. */
const LABEL_LENGTH_MAX = 512;

/** Escapes a label value for the text formats; control characters other than line feed become spaces. */
export function escapeLabelValue(value: string): string {
  const cut = value.length > LABEL_LENGTH_MAX ? value.slice(0, LABEL_LENGTH_MAX) : value;
  return escapeText(cut.toWellFormed().replaceAll(/[\p{Cc}--\n]/gv, ' ')).replaceAll('"', '\\"');
}

/** Renders `name{a="1",b="2"}`: everything of a sample line that precedes its value. */
export function renderSeries(name: string, labels: Labels): string {
  const pairs = Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}="${escapeLabelValue(value)}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

/** Returns the labels of a router's series: its name, its configured labels, then those of the sample. */
export function toSeriesLabels(router: RouterIdentity, labels: Labels): Labels {
  return { router: router.name, ...router.labels, ...labels };
}

/** Renders a value as both text formats write it. */
export function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

/**
 * Renders the two comment lines before a family. In OpenMetrics the suffix of counters and infos belongs to the sample,
 * not to the family. A state set is declared as a gauge in both formats: OpenMetrics requires its label to have the
 * name of the family, which makes for worse queries.
 */
export function renderHeader({ name, help, type }: FamilyDescription, format: ExpositionFormat): string {
  if (format === 'text') {
    return `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type === 'counter' ? 'counter' : 'gauge'}\n`;
  }
  const family = name.replace(type === 'counter' ? /_total$/ : type === 'info' ? /_info$/ : /^$/, '');
  const openType = type === 'stateset' ? 'gauge' : type;
  return `# HELP ${family} ${escapeText(help).replaceAll('"', '\\"')}\n# TYPE ${family} ${openType}\n`;
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
