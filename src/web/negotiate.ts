import type { MetricsFormat } from './content.ts';

/** One entry of a header such as `Accept`, which lists what a client takes and how gladly. */
interface Choice {
  readonly name: string;
  /** All but `q`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** From 0, which is "not this", to 1. */
  readonly quality: number;
}

/** Bounds the work of one header; programs send a handful. */
const CHOICES_MAX = 64;

/** The choices of a header, the best first; equally good ones in the order of the header. */
function parseChoices(header: string | undefined): readonly Choice[] {
  return (header ?? '')
    .split(',', CHOICES_MAX)
    .map(parseChoice)
    .toSorted((a, b) => b.quality - a.quality);
}

function parseChoice(text: string): Choice {
  const [name = '', ...rest] = text.split(';').map((part) => part.trim().toLowerCase());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [key = '', value = ''] = part.split('=', 2).map((side) => side.trim());
    parameters.set(key, value.replace(/^"(.*)"$/, '$1'));
  }
  const quality = parameters.get('q');
  parameters.delete('q');
  return { name, parameters, quality: quality === undefined ? 1 : parseQuality(quality) };
}

/** What is no quality counts as 0: a client that cannot say how much it wants something gets the usual. */
function parseQuality(text: string): number {
  return /^[01](\.\d*)?$/.test(text) ? Math.min(Number(text), 1) : 0;
}

/** The format that a client prefers among those that there are. Without a wish, and when no wish can be met, text 0.0.4. */
export function chooseMetricsFormat(accept: string | undefined): MetricsFormat {
  for (const { name, parameters, quality } of parseChoices(accept)) {
    if (quality === 0) break;
    const version = parameters.get('version');
    if (name === 'application/openmetrics-text' && (version ?? '1.0.0') === '1.0.0') return 'openmetrics';
    if (name === 'text/plain' && (version ?? '0.0.4') === '0.0.4') return 'text';
    // A wildcard is no wish for OpenMetrics: browsers and simple programs send it.
    if (name === '*/*' || name === 'text/*') return 'text';
  }
  return 'text';
}

/** Whether a client takes gzip, and not less gladly than plain bytes. */
export function isGzipWanted(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const choices = parseChoices(acceptEncoding);
  const qualityOf = (...names: string[]) => choices.find(({ name }) => names.includes(name))?.quality;
  const gzip = qualityOf('gzip', 'x-gzip') ?? qualityOf('*') ?? 0;
  return gzip > 0 && gzip >= (qualityOf('identity') ?? 0);
}

/** Whether the client already has what `etag` stands for, by its `If-None-Match`. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const toOpaque = (tag: string) => tag.trim().replace(/^W\//, '');
  const tags = (ifNoneMatch ?? '').split(',', CHOICES_MAX).map(toOpaque);
  return tags.includes('*') || tags.includes(toOpaque(etag));
}
