import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isGzipWanted, isUnchanged } from './negotiate.ts';
import type { WebContext } from './served.ts';

const compress = promisify(gzip);
/** Below this a compressed answer saves no packet. */
const GZIP_BYTES_MIN = 1024;
/** The fastest level gets most of what there is to get from such text. */
const GZIP_LEVEL = 1;

/**
 * Answers with a text that a client may keep but has to ask about: 304 when it already has this very text. Compressed
 * when the client takes that and it is worth it.
 */
export async function answerText(context: WebContext, type: string, text: string): Promise<Response> {
  const body = Buffer.from(text);
  // Weak, because the compressed text is the same to a reader and other bytes.
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
