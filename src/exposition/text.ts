import type { Labels, RouterIdentity } from '../model/index.ts';

/** A label value is cut to this many characters: no real one comes near, and a hostile router must not fill memory. */
const LABEL_LENGTH_MAX = 512;

/** Escapes a label value for the text format; control characters other than line feed become spaces. */
export function escapeLabelValue(value: string): string {
  const cut = value.length > LABEL_LENGTH_MAX ? value.slice(0, LABEL_LENGTH_MAX) : value;
  return cut
    .toWellFormed()
    .replaceAll(/[\p{Cc}--\n]/gv, ' ')
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
}

/** `name{a="1",b="2"}`: everything of a sample line that comes before its value. */
export function renderSeries(name: string, labels: Labels): string {
  const pairs = Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}="${escapeLabelValue(value)}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

/** The labels of a router's series: its name, its configured labels, then those of the sample. */
export function toSeriesLabels(router: RouterIdentity, labels: Labels): Labels {
  return { router: router.name, ...router.labels, ...labels };
}

/** A value as both text formats write it. */
export function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

/** The two comment lines in front of a family. */
export function renderHeader(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}
