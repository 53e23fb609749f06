import type { Hono } from 'hono';
import { answerJson, answerRejection, type RestEnv, readRestOfPath } from './answer.ts';
import { requireGroup } from './auth.ts';
import { Rejection } from './rejection.ts';

/** Adds what every account may read: the router's own description of its state. Absent cards are not found. */
export function addStatusRoutes(api: Hono<RestEnv>): void {
  api.get('/status/*', requireGroup('status'), (context) => {
    const status = context.env.device.life.read(readRestOfPath(context, 'status'));
    if (status) return answerJson(context, 200, { status });
    return answerRejection(context, Rejection.of(404, 'resource', 'not found'));
  });
  api.all('/status/*', (context) => {
    context.header('Allow', 'GET');
    return answerRejection(context, Rejection.of(405, 'method', 'not supported by this resource'));
  });
}
