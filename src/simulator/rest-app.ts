import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import type { Device } from './device.ts';
import { answerFault, type RestEnv } from './rest-answer.ts';
import { addAuthRoutes, requireAccess } from './rest-auth.ts';
import { addDownloadRoutes } from './rest-download.ts';
import { addStatusRoutes } from './rest-status.ts';

/** Where the interface begins on every router; the version is part of it. */
const API_ROOT = '/api/v2_0';
/** Larger than any configuration a router takes; a larger body is refused with 413. */
const REQUEST_BODY_BYTES_MAX = 1024 * 1024;

/** The REST interface of one router. Without an access token everything but login, refresh and logout is a 401. */
export function createRestApp(device: Device): Hono<RestEnv> {
  const app = new Hono<RestEnv>();
  app.use(observe(device));
  app.use(
    bodyLimit({
      maxSize: REQUEST_BODY_BYTES_MAX,
      onError: (context) => answerFault(context, 413, 'content', 'too large'),
    }),
  );
  app.notFound((context) => answerFault(context, 404, 'resource', 'not found'));
  app.onError((_error, context) => answerFault(context, 500, 'internal', 'the simulated router failed'));

  const api = app.basePath(API_ROOT);
  addAuthRoutes(api, device);
  api.use(requireAccess(device));
  addStatusRoutes(api, device);
  addDownloadRoutes(api, device);
  return app;
}

/** Counts every request and stamps every answer with the router's own clock. */
function observe({ clock, counters }: Device): MiddlewareHandler<RestEnv> {
  return createMiddleware<RestEnv>(async (context, next) => {
    await next();
    context.header('Date', clock.httpDate());
    const bodyBytes = context.req.method === 'HEAD' ? 0 : Number(context.res.headers.get('Content-Length') ?? 0);
    counters.addAnswer(`${context.req.method} ${renderRoute(context)}`, context.res.status, bodyBytes);
  });
}

/** The two uses of the log download count apart: listing is cheap, reading is not. */
function renderRoute(context: Context): string {
  // Middleware matches too, before and after the route itself, but with a star at the end.
  const route = matchedRoutes(context).findLast(({ path }) => !path.endsWith('*'))?.path;
  if (route === undefined) return '(unknown)';
  const path = route.slice(API_ROOT.length);
  if (path !== '/download/log') return path;
  return `${path}?${context.req.query('list_files') === undefined ? 'log_file' : 'list_files'}`;
}
