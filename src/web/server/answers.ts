import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { forEachYielding } from '../../base/index.ts';
import type { WebContext } from './context.ts';

const compress = promisify(gzip);
/** Smaller responses would save no packet. */
const GZIP_BYTES_MIN = 1024;
/** The fastest level achieves most of the possible compression. */
const GZIP_LEVEL = 1;

/** Answers with a cacheable text, by default revalidated (304), compressed if the client accepts gzip and it is large enough. */
export async function answerText(
  context: WebContext,
  type: string,
  text: string | readonly string[],
  cache = 'no-cache',
): Promise<Response> {
  const { body, digest } = await encode(typeof text === 'string' ? [text] : text);
  // Weak, because the compressed response is equivalent but not byte-identical.
  const etag = `W/"${digest.slice(0, 22)}"`;
  context.header('ETag', etag);
  context.header('Cache-Control', cache);
  context.header('Vary', 'Accept-Encoding');
  if (isUnchanged(context.req.header('if-none-match'), etag)) return context.body(null, 304);
  context.header('Content-Type', type);
  if (body.length < GZIP_BYTES_MIN || !isGzipWanted(context.req.header('accept-encoding'))) return context.body(body);
  context.header('Content-Encoding', 'gzip');
  return context.body(await compress(body, { level: GZIP_LEVEL }));
}

/** Answers with a value as JSON, like {@link answerText}. */
export function answerJson(context: WebContext, value: unknown): Promise<Response> {
  return answerText(context, 'application/json', `${JSON.stringify(value)}\n`);
}

async function encode(
  texts: readonly string[],
): Promise<{ readonly body: Buffer<ArrayBuffer>; readonly digest: string }> {
  const hash = createHash('sha256');
  const pieces: Buffer<ArrayBuffer>[] = [];
  await forEachYielding(texts, (text) => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  });
  const [first] = pieces;
  return { body: first && pieces.length === 1 ? first : Buffer.concat(pieces), digest: hash.digest('base64url') };
}

interface Choice {
  readonly name: string;
  /** All parameters except `q`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** From 0 (not acceptable) to 1. */
  readonly quality: number;
}

/** Bounds the work for one header; programs send a few. */
const CHOICES_MAX = 64;

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

/** An invalid quality counts as 0, so the client gets the default. */
function parseQuality(text: string): number {
  return /^[01](\.\d*)?$/.test(text) ? Math.min(Number(text), 1) : 0;
}

/** `text` is the Prometheus text format 0.0.4, `openmetrics` OpenMetrics 1.0.0. */
export type MetricsFormat = 'text' | 'openmetrics';

/** Chooses the format that a client prefers. Default: text 0.0.4. */
export function chooseMetricsFormat(accept: string | undefined): MetricsFormat {
  for (const { name, parameters, quality } of parseChoices(accept)) {
    if (quality === 0) break;
    const version = parameters.get('version');
    if (name === 'application/openmetrics-text' && (version ?? '1.0.0') === '1.0.0') return 'openmetrics';
    if (name === 'text/plain' && (version ?? '0.0.4') === '0.0.4') return 'text';
    // A wildcard does not ask for OpenMetrics: browsers and simple programs send it.
    if (name === '*/*' || name === 'text/*') return 'text';
  }
  return 'text';
}

/** True if a client accepts gzip and prefers it at least as much as no encoding. */
export function isGzipWanted(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const choices = parseChoices(acceptEncoding);
  const qualityOf = (...names: string[]) => choices.find(({ name }) => names.includes(name))?.quality;
  const quality = qualityOf('gzip', 'x-gzip') ?? qualityOf('*') ?? 0;
  return quality > 0 && quality >= (qualityOf('identity') ?? 0);
}

/** True if `If-None-Match` contains `etag`. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const toOpaque = (tag: string) => tag.trim().replace(/^W\//, '');
  const tags = (ifNoneMatch ?? '').split(',', CHOICES_MAX).map(toOpaque);
  return tags.includes('*') || tags.includes(toOpaque(etag));
}

const PIECE_CHARS = 64 * 1024;

/** Renders items as a JSON array, each on a line of its own, in pieces: together they may have megabytes. */
export async function renderList(items: Iterable<unknown>): Promise<readonly string[]> {
  const pieces: string[] = [];
  let piece = '[\n';
  let separator = '';
  await forEachYielding(items, (item) => {
    piece += separator + JSON.stringify(item);
    separator = ',\n';
    if (piece.length >= PIECE_CHARS) {
      pieces.push(piece);
      piece = '';
    }
  });
  return [...pieces, `${piece}${separator === '' ? '' : '\n'}]`];
}

/** Answers with a list under `key`, each row on a line of its own as `fan-out.ts` reads it, followed by the keys in `more`. */
export async function answerList(
  context: WebContext,
  key: string,
  rows: Iterable<unknown>,
  more: object = {},
): Promise<Response> {
  const list = await renderList(rows);
  const end = JSON.stringify(more).slice(1);
  return answerText(context, 'application/json', [`{"${key}":`, ...list, `${end === '}' ? '' : ','}${end}\n`]);
}
