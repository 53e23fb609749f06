import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { parseJson } from '../../base/index.ts';
import type { RecordedAnswer, Recording } from '../bundle-file.ts';
import { waitUnlessClosed } from '../faults/fault-injector.ts';
import { isRecord, Rejection } from '../rejection.ts';
import { API_ROOT, answerBytes, answerRejection, type RestContext, type RestEnv } from './answer.ts';
import { answerFile } from './download.ts';

/** Of a configuration list; clients read no more. */
const ENTRIES_MAX = 10_000;
/** Their answers have no body. */
const EMPTY_STATUSES = new Set([204, 205, 304]);

/** Answers every GET to a router with a recording. */
export const answerFromRecording: MiddlewareHandler<RestEnv> = createMiddleware<RestEnv>(async (context, next) => {
  const { recording, device, outgoing } = context.env;
  if (!recording || context.req.method !== 'GET') return next();
  const url = new URL(context.req.url);
  const path = url.pathname.slice(API_ROOT.length);
  const name = url.searchParams.get('log_file');
  if (path === '/download/log' && name !== null) return answerLog(context, recording, name);
  const answer = findAnswer(recording, path, url);
  if (!answer) return answerRejection(context, Rejection.of(404, 'resource', 'not in the recording'));
  await waitUnlessClosed(device, answer.delayMs, outgoing);
  const { status = 503, contentType, date } = answer;
  if (answer.status === undefined) outgoing.destroy();
  if (date !== undefined) context.set('date', date);
  const body = Buffer.from(EMPTY_STATUSES.has(status) ? '' : answer.body);
  return answerBytes(context, status as ContentfulStatusCode, body, { 'Content-Type': contentType });
});

/** `undefined` if the recording has none. */
function findAnswer({ answers }: Recording, path: string, { search, searchParams }: URL) {
  const counted = answers.get(`${path}?return_size=1`);
  const isList = counted !== undefined && !searchParams.has('return_size');
  return answers.get(`${path}${search}`) ?? (isList ? toList(counted) : undefined);
}

/** The answer with as many entries as were counted. Their content is not recorded. */
function toList(counted: RecordedAnswer): RecordedAnswer {
  const found: unknown = counted.status === 200 ? parseJson(counted.body) : undefined;
  const config = isRecord(found) ? found['config'] : undefined;
  const size = isRecord(config) ? Number(config['list_size']) : Number.NaN;
  if (!(size >= 0)) return counted;
  const list = Array.from({ length: Math.min(ENTRIES_MAX, size) }, (_none, index) => ({ list_uid: `${index + 1}` }));
  return { ...counted, body: JSON.stringify({ config: { unique: {}, list } }) };
}

/** A live file without recorded lines is empty; rotated ones are not recorded. */
function answerLog(context: RestContext, { logs }: Recording, name: string): Response {
  const text = logs.get(name) ?? (name.endsWith('/current') ? '' : undefined);
  if (text === undefined) return answerRejection(context, Rejection.of(404, 'log_file', 'not in the recording'));
  const bytes = Buffer.from(text);
  return answerFile(context, name, { kind: 'plain', bytes, tag: `"${bytes.length}"`, markServed: () => {} });
}
