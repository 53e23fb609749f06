import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Steps } from '../base/index.ts';
import { isGzipWanted, isUnchanged } from './negotiate.ts';
import type { WebContext } from './web-dependencies.ts';

const compress = promisify(gzip);
/** Smaller responses are not compressed: it would save no packet. */
const GZIP_BYTES_MIN = 1024;
/** The fastest level already achieves most of the possible compression of such text. */
const GZIP_LEVEL = 1;

/**
 * Answers with a text that clients may cache but must revalidate: 304 when they already have it. Compressed when the
 * client accepts gzip and the text is large enough. Takes breaks between the pieces of a long one.
 */
export async function answerText(
  context: WebContext,
  type: string,
  text: string | readonly string[],
): Promise<Response> {
  const { body, digest } = await encode(typeof text === 'string' ? [text] : text);
  // Weak, because the compressed response is equivalent but not byte-identical.
  const etag = `W/"${digest.slice(0, 22)}"`;
  context.header('ETag', etag);
  context.header('Cache-Control', 'no-cache');
  context.header('Vary', 'Accept-Encoding');
  if (isUnchanged(context.req.header('if-none-match'), etag)) return context.body(null, 304);
  context.header('Content-Type', type);
  if (body.length < GZIP_BYTES_MIN || !isGzipWanted(context.req.header('accept-encoding'))) return context.body(body);
  context.header('Content-Encoding', 'gzip');
  return context.body(await compress(body, { level: GZIP_LEVEL }));
}

/** {@link answerText} with a value as JSON. */
export function answerJson(context: WebContext, value: unknown): Promise<Response> {
  return answerText(context, 'application/json', `${JSON.stringify(value)}\n`);
}

async function encode(
  texts: readonly string[],
): Promise<{ readonly body: Buffer<ArrayBuffer>; readonly digest: string }> {
  const steps = new Steps();
  const hash = createHash('sha256');
  const pieces: Buffer<ArrayBuffer>[] = [];
  for (const text of texts) {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
    if (steps.isDue) await steps.next();
  }
  const [first] = pieces;
  return { body: first && pieces.length === 1 ? first : Buffer.concat(pieces), digest: hash.digest('base64url') };
}
