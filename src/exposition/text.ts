import type { FamilyDescription, Labels, RouterIdentity } from '../model/index.ts';

/** `text` is the Prometheus text format 0.0.4, `openmetrics` is OpenMetrics 1.0.0. Samples are the same text in both. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** A label value is cut to this many characters: no real one comes close, and a hostile router must not fill memory. */
const LABEL_LENGTH_MAX = 512;

/** A usual label value: nothing in it is escaped. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Escapes a label value for the text formats; control characters other than line feed become spaces. */
export function escapeLabelValue(value: string): string {
  if (value.length <= LABEL_LENGTH_MAX && PLAIN.test(value)) return value;
  const cut = value.length > LABEL_LENGTH_MAX ? value.slice(0, LABEL_LENGTH_MAX) : value;
  return escapeText(cut.toWellFormed().replaceAll(/[\p{Cc}--\n]/gv, ' ')).replaceAll('"', '\\"');
}

/** Own labels of samples that are kept as one text for all routers. They come from a few hundred names; a hostile router has more. */
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

  /** Renders the part of a series that is the sample's own, for {@link joinSeries}. */
  renderOwn(labels: Labels): string {
    for (const label in labels) {
      // A label of the sample replaces the router's, in its place.
      if (Object.hasOwn(this.#labels, label)) return `{${renderPairs({ ...this.#labels, ...labels })}}`;
    }
    return renderPairs(labels);
  }

  /** Like {@link renderOwn}, but the same text for all routers: one that is kept takes its memory once. */
  shareOwn(labels: Labels): string {
    const own = this.renderOwn(labels);
    const known = shared.get(own);
    if (known !== undefined) return known;
    if (shared.size >= SHARED_MAX) shared.clear();
    shared.set(own, own);
    return own;
  }

  /** Renders everything of a sample line that precedes its value, from the result of {@link renderOwn}. */
  joinSeries(name: string, own: string): string {
    if (own.startsWith('{')) return own === '{}' ? name : name + own;
    return own === '' ? `${name}{${this.#text}}` : `${name}{${this.#text},${own}}`;
  }

  /** Adds the line of a sample to pieces of text; `own` is a result of {@link renderOwn}. */
  addLine(pieces: string[], name: string, own: string, value: number): void {
    if (own === '' || own.startsWith('{')) pieces.push(this.joinSeries(name, own), ' ');
    else pieces.push(name, '{', this.#text, ',', own, '} ');
    pieces.push(renderValue(value), '\n');
  }
}

/** Renders `name{a="1",b="2"}`: everything of a sample line that precedes its value. */
export function renderSeries(name: string, labels: Labels): string {
  const pairs = renderPairs(labels);
  return pairs === '' ? name : `${name}{${pairs}}`;
}

/** Renders `a="1",b="2"`; a label without a value is left out. */
function renderPairs(labels: Labels): string {
  const pairs: string[] = [];
  for (const label in labels) {
    const value = labels[label];
    if (value !== undefined && value !== '') pairs.push(`${label}="${escapeLabelValue(value)}"`);
  }
  // Not with `+`: each router keeps one of these, and what that makes is a tree of its pieces.
  return pairs.join(',');
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
