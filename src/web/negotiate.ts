import type { MetricsFormat } from './content.ts';

/** One entry of a header such as `Accept`, which lists what a client accepts with its preference. */
interface Choice {
  readonly name: string;
  /** All parameters except `q`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** From 0 (not acceptable) to 1. */
  readonly quality: number;
}

/** Bounds the work of one header; programs send a handful. */
const CHOICES_MAX = 64;

/** Parses the choices of a header, most preferred first; equal ones in the order of the header. */
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

/** Parses a quality. Invalid ones count as 0: such a client gets the default. */
function parseQuality(text: string): number {
  return /^[01](\.\d*)?$/.test(text) ? Math.min(Number(text), 1) : 0;
}

/** Chooses the available format that a client prefers. Default, also when no preference can be met: text 0.0.4. */
export function chooseMetricsFormat(accept: string | undefined): MetricsFormat {
  for (const { name, parameters, quality } of parseChoices(accept)) {
    if (quality === 0) break;
    const version = parameters.get('version');
    if (name === 'application/openmetrics-text' && (version ?? '1.0.0') === '1.0.0') return 'openmetrics';
    if (name === 'text/plain' && (version ?? '0.0.4') === '0.0.4') return 'text';
    // A wildcard is no request for OpenMetrics: browsers and simple programs send it.
    if (name === '*/*' || name === 'text/*') return 'text';
  }
  return 'text';
}

/** True when a client accepts gzip and prefers it at least as much as plain bytes. */
export function isGzipWanted(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const choices = parseChoices(acceptEncoding);
  const qualityOf = (...names: string[]) => choices.find(({ name }) => names.includes(name))?.quality;
  const gzip = qualityOf('gzip', 'x-gzip') ?? qualityOf('*') ?? 0;
  return gzip > 0 && gzip >= (qualityOf('identity') ?? 0);
}

/** True when `If-None-Match` contains `etag`: the client already has this content. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const toOpaque = (tag: string) => tag.trim().replace(/^W\//, '');
  const tags = (ifNoneMatch ?? '').split(',', CHOICES_MAX).map(toOpaque);
  return tags.includes('*') || tags.includes(toOpaque(etag));
}
