import type { FamilyDescription, Labels, RouterIdentity } from '../model/index.ts';

/** `text` is the Prometheus text format 0.0.4, `openmetrics` is OpenMetrics 1.0.0. Samples are the same in both. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** A hostile router must not fill memory; real values are much shorter. Characters. */
const LABEL_LENGTH_MAX = 512;

const PLAIN = /^[ !#-[\]-~]*$/;

/** Escapes a label value for the text formats; control characters other than line feed become spaces. */
export function escapeLabelValue(value: string): string {
  if (value.length <= LABEL_LENGTH_MAX && PLAIN.test(value)) return value;
  const cut = value.length > LABEL_LENGTH_MAX ? value.slice(0, LABEL_LENGTH_MAX) : value;
  return escapeText(cut.toWellFormed().replaceAll(/[\p{Cc}--\n]/gv, ' ')).replaceAll('"', '\\"');
}

/** Label texts kept for all routers: normally a few hundred; a hostile router has more. */
const SHARED_MAX = 10_000;
const shared = new Map<string, string>();

/** Renders the labels of one router's series: its name, its configured labels, then those of the sample. */
export class RouterLabels {
  readonly #labels: Labels;
  /** Never empty: every router has a name. */
  readonly #text: string;

  constructor(router: RouterIdentity) {
    this.#labels = { router: router.name, ...router.labels };
    this.#text = renderPairs(this.#labels);
  }

  /** Renders the sample labels of a series for {@link joinSeries}. */
  renderOwn(labels: Labels): string {
    for (const label in labels) {
      // A label of the sample replaces the router's, in its position.
      if (Object.hasOwn(this.#labels, label)) return `{${renderPairs({ ...this.#labels, ...labels })}}`;
    }
    return renderPairs(labels);
  }

  /** Like {@link renderOwn}, but returns one shared string for all routers, to save memory. */
  shareOwn(labels: Labels): string {
    const own = this.renderOwn(labels);
    const known = shared.get(own);
    if (known !== undefined) return known;
    if (shared.size >= SHARED_MAX) shared.clear();
    shared.set(own, own);
    return own;
  }

  /** Renders a sample line up to its value, from the result of {@link renderOwn}. */
  joinSeries(name: string, own: string): string {
    if (own.startsWith('{')) return own === '{}' ? name : name + own;
    return own === '' ? `${name}{${this.#text}}` : `${name}{${this.#text},${own}}`;
  }

  /** Appends a sample line to `pieces`; `own` is a result of {@link renderOwn}. */
  addLine(pieces: string[], name: string, own: string, value: number): void {
    if (own === '' || own.startsWith('{')) pieces.push(this.joinSeries(name, own), ' ');
    else pieces.push(name, '{', this.#text, ',', own, '} ');
    pieces.push(renderValue(value), '\n');
  }
}

function renderPairs(labels: Labels): string {
  const pairs: string[] = [];
  for (const label in labels) {
    const value = labels[label];
    if (value !== undefined && value !== '') pairs.push(`${label}="${escapeLabelValue(value)}"`);
  }
  // Not with `+`: each router keeps one of these, and V8 keeps the result as a tree of pieces.
  return pairs.join(',');
}

/** Renders a value as both text formats write it. */
export function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

/**
 * Renders the HELP and TYPE lines of a family. In OpenMetrics the suffix of counters and infos belongs to the sample, not to the family.
 * A state set is declared as a gauge in both formats: OpenMetrics requires its label to have the name of the family, which makes queries
 * harder.
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
