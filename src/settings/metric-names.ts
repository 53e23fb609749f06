import { z } from 'zod';
import { checked, parsed } from './values.ts';

/** Names of metrics and labels, in modules and log rules. */

/** See {@link LABELS_MAX}; longer texts do not belong into a label. */
export const LABEL_CHARS_MAX = 256;
/** A name that fits into a panel of a dashboard. */
export const METRIC_NAME_CHARS_MAX = 128;
/** One or two sentences. */
export const HELP_CHARS_MAX = 500;
/** Every label is stored with every series. */
export const METRIC_LABELS_MAX = 16;

/** Has a meaning in the text format, or is on every series of a router. */
const LABELS_RESERVED: ReadonlySet<string> = new Set(['router', 'le', 'quantile']);

const HELP = `a text of at most ${HELP_CHARS_MAX} characters`;

/** A sentence or two for people; line breaks of a folded text count as blanks. */
export function help(description: string) {
  return parsed({ description, kind: 'text' }, HELP, (value) => {
    const line = value.trim().replaceAll(/\s+/g, ' ');
    return line !== '' && line.length <= HELP_CHARS_MAX ? line : undefined;
  });
}

const LABEL_NAME = 'a label name of letters, digits and "_" that does not begin with a digit';

/** The name of a label of a metric or of a router. */
export const labelName = z
  .string({ error: LABEL_NAME })
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, { error: LABEL_NAME })
  .max(METRIC_NAME_CHARS_MAX, { error: `a label name of at most ${METRIC_NAME_CHARS_MAX} characters` })
  .refine((label) => !label.startsWith('__'), {
    error: 'a label name that does not begin with "__", which is reserved',
  })
  .refine((label) => !LABELS_RESERVED.has(label), { error: 'a label name that the exporter does not use itself' });

/** The name of a metric. */
export function metricName(description: string) {
  return checked(
    { description, kind: 'metric name' },
    'the name of a metric: letters, digits and "_", beginning with a letter',
    METRIC_NAME_CHARS_MAX,
    (value) => /^[a-zA-Z][a-zA-Z0-9_]*$/.test(value),
  );
}

/** Names that begin so belong to this program, its runtime and Prometheus itself. */
const PREFIXES_RESERVED = ['router_exporter_', 'process_', 'nodejs_', 'go_', 'scrape_'];
/** Suffixes with a meaning in OpenMetrics and Prometheus. */
const SUFFIXES_RESERVED = ['_total', '_info', '_bucket', '_count', '_sum', '_created'];
const SUFFIXES: Readonly<Record<string, string>> = { counter: '_total', info: '_info' };

/** The valid keys of a metric. */
interface WrittenName {
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

/** Returns the fault of a metric name for its type; `undefined` if it is valid. */
export function findNameFault({ name, type }: WrittenName): string | undefined {
  if (name === undefined) return undefined;
  const prefix = PREFIXES_RESERVED.find((candidate) => name.startsWith(candidate));
  if (prefix !== undefined) return `The names that begin with "${prefix}" belong to others; choose another one`;
  if (type === undefined) return undefined;
  const suffix = SUFFIXES[type];
  if (suffix !== undefined) {
    return name.endsWith(suffix) ? undefined : `The name of a metric of type "${type}" must end in "${suffix}"`;
  }
  const reserved = SUFFIXES_RESERVED.find((candidate) => name.endsWith(candidate));
  return reserved && `The name of a metric of type "${type}" must not end in "${reserved}"`;
}

/** The name of the family in OpenMetrics. */
export function toFamilyName({ name, type }: { readonly name: string; readonly type: string }): string {
  if (type === 'counter') return name.replace(/_total$/, '');
  return type === 'info' ? name.replace(/_info$/, '') : name;
}
