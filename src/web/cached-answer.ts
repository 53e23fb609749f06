import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isGzipWanted, isUnchanged } from './negotiate.ts';
import type { WebContext } from './web-dependencies.ts';

const compress = promisify(gzip);
/** Smaller responses are not compressed: it would save no packet. */
const GZIP_BYTES_MIN = 1024;
/** The fastest level already achieves most of the possible compression of such text. */
const GZIP_LEVEL = 1;

/**
 * Answers with a text that clients may cache but must revalidate: 304 when they already have it. Compressed when the
 * client accepts gzip and the text is large enough.
 */
export async function answerText(context: WebContext, type: string, text: string): Promise<Response> {
  const body = Buffer.from(text);
  // Weak, because the compressed response is equivalent but not byte-identical.
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
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
