import { gzipSync } from 'node:zlib';
import type { Hono } from 'hono';
import type { LogDownload } from '../log-files/device-logs.ts';
import { Rejection } from '../rejection.ts';
import { answerBytes, answerJson, answerRejection, type RestContext, type RestEnv, readQuery } from './answer.ts';
import { requireGroup } from './auth.ts';

/** A part of a file; `to` is exclusive. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Parses a `Range` header with one range; `undefined`, the whole file, for anything else, as the HTTP standard allows. */
export function parseRange(header: string | undefined, length: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { from: length - suffix, to: length };
  }
  const from = Number(first);
  const to = last === '' ? length : Math.min(Number(last) + 1, length);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= length ? 'unsatisfiable' : { from, to };
}

/** Adds the list of log files and their download. */
export function addDownloadRoutes(api: Hono<RestEnv>): void {
  api.get('/download/log', requireGroup('read'), async (context) => {
    const { logs } = context.env.device;
    if (context.req.query('list_files') !== undefined) return answerJson(context, 200, { log_files: logs.list() });
    const path = readQuery(context, 'log_file');
    if (path instanceof Rejection) return answerRejection(context, path);
    if (!path) return answerRejection(context, Rejection.of(400, 'log_file', 'must be given'));
    const file = await logs.read(path);
    if (!file) return answerRejection(context, Rejection.of(404, 'log_file', 'not found'));
    return answerFile(context, path, file);
  });
}

/** Answers with a log file, or a part of it. */
export function answerFile(context: RestContext, path: string, file: LogDownload): Response {
  const { features, countDelivered } = context.env;
  const { bytes } = file;
  const headers = renderFileHeaders(path, file);
  if (features.rangeRequests) {
    Object.assign(headers, { ETag: file.tag, 'Accept-Ranges': 'bytes' });
    if (context.req.header('If-None-Match') === file.tag) return context.body(null, 304, { ETag: file.tag });
    const isSame = (context.req.header('If-Range') ?? file.tag) === file.tag;
    const range = isSame ? parseRange(context.req.header('Range'), bytes.length) : undefined;
    if (range === 'unsatisfiable') {
      context.header('Content-Range', `bytes */${bytes.length}`);
      return answerRejection(context, Rejection.of(416, 'range', 'lies behind the end of the file'));
    }
    if (range) {
      const part = bytes.subarray(range.from, range.to);
      file.markServed(range.from, range.from + countDelivered(part.length));
      const contentRange = `bytes ${range.from}-${range.to - 1}/${bytes.length}`;
      return answerBytes(context, 206, part, { ...headers, 'Content-Range': contentRange });
    }
  }
  const delivered = countDelivered(bytes.length);
  file.markServed(0, delivered);
  if (!features.gzip || !/\bgzip\b/.test(context.req.header('Accept-Encoding') ?? '')) {
    return answerBytes(context, 200, bytes, headers);
  }
  return answerBytes(context, 200, gzipSync(bytes), {
    ...headers,
    'Content-Encoding': 'gzip',
    Vary: 'Accept-Encoding',
  });
}

/** The live file is offered under its component's name, a rotated one under its own. */
function renderFileHeaders(path: string, { kind }: LogDownload): Record<string, string> {
  const [component = '', name = ''] = path.split('/');
  const filename = name === 'current' ? `${component}.txt` : name;
  return {
    'Content-Type': kind === 'plain' ? 'text/plain' : 'application/octet-stream',
    'Content-Disposition': `attachment; filename=${filename}`,
  };
}
