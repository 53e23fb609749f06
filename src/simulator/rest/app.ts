import { Hono, type MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import { resourceTable } from '../configuration/resources.ts';
import { readWebSettings } from '../configuration/web-settings.ts';
import type { Firmware } from '../device/hardware.ts';
import { describeInterface } from '../openapi/describe-interface.ts';
import { Rejection } from '../rejection.ts';
import {
  API_ROOT,
  answerBytes,
  answerJson,
  answerRejection,
  type RestContext,
  type RestEnv,
  readRestOfPath,
} from './answer.ts';
import { addAuthRoutes, requireAccess, requireGroup } from './auth.ts';
import { addConfigurationRoutes } from './configuration-routes.ts';
import { addDownloadRoutes } from './download.ts';
import { addOperationRoutes } from './operation.ts';
import { addProfileRoutes } from './profiles.ts';
import { answerFromRecording } from './recording.ts';

/** Every account may read the status. Resources of absent cards are 404. */
function addStatusRoutes(api: Hono<RestEnv>): void {
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

/** What is stored besides profiles: the running firmware with the one before it, and one container. */
function addStoredFileRoutes(api: Hono<RestEnv>): void {
  const mayRead = requireGroup('read');
  api.get('/firmware', mayRead, (context) => {
    const { firmware } = context.env.device.hardware;
    const common = { type: 'icom_os', icom_os_type: 'full', required_major: '5.0', installable: true, state: 'stable' };
    const names = firmware === '5.5' ? [firmware] : ['5.5', firmware];
    return answerJson(context, 200, {
      firmware: names.map((name) => ({ name, ...common, active: name === firmware })),
    });
  });
  api.get('/container/container', mayRead, (context) =>
    answerJson(context, 200, { container: [{ designator: 'container_94f31acd', downloadable: true }] }),
  );
}

/** Next to the root of the interface. */
const DESCRIPTION_PATH = '/openapi.json';

/** Routers with the same firmware share the file. */
const rendered = new Map<Firmware, Buffer>();

/**
 * The description of the interface is served without a token, and neither counted nor logged: it is not a call of the interface. Real
 * devices offer it in their web interface only, for a person to download.
 */
function addDescriptionRoute(app: Hono<RestEnv>): void {
  app.get(DESCRIPTION_PATH, (context) => {
    const { hardware, clock } = context.env.device;
    context.header('Date', clock.httpDate());
    return answerBytes(context, 200, renderDescription(hardware.firmware), { 'Content-Type': 'application/json' });
  });
}

function renderDescription(firmware: Firmware): Buffer {
  let bytes = rendered.get(firmware);
  if (!bytes) {
    bytes = Buffer.from(JSON.stringify(describeInterface({ firmware })));
    rendered.set(firmware, bytes);
  }
  return bytes;
}

const UNKNOWN = '(unknown)';

/** Creates the REST interface of all routers; the bindings of a request contain its router. */
export function createRestApp(): Hono<RestEnv> {
  const app = new Hono<RestEnv>();
  addDescriptionRoute(app);
  app.use(observe);
  app.notFound((context) => answerRejection(context, Rejection.of(404, 'resource', 'not found')));
  app.onError((_error, context) =>
    answerRejection(context, Rejection.of(500, 'internal', 'the simulated router failed')),
  );

  const api = app.basePath(API_ROOT);
  addAuthRoutes(api);
  api.use(requireAccess);
  api.use(answerFromRecording);
  addConfigurationRoutes(api);
  addStatusRoutes(api);
  addDownloadRoutes(api);
  addProfileRoutes(api);
  addStoredFileRoutes(api);
  addOperationRoutes(api);
  refuseOtherMethods(app, api);
  return app;
}

/** Answers an unsupported method of an existing path with the methods it supports. */
function refuseOtherMethods(app: Hono<RestEnv>, api: Hono<RestEnv>): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of app.routes) {
    if (method === 'ALL' || path.endsWith('*') || !path.startsWith(API_ROOT)) continue;
    methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  for (const [path, allowed] of methods) {
    api.all(path.slice(API_ROOT.length), (context) => {
      context.header('Allow', allowed.join(', '));
      return answerRejection(context, Rejection.of(405, 'method', 'not supported by this resource'));
    });
  }
}

/** Counts every request, logs it if configured, and sets the Date header from the router's own clock. */
const observe: MiddlewareHandler<RestEnv> = createMiddleware<RestEnv>(async (context, next) => {
  await next();
  const { clock, counters, logs, profiles } = context.env.device;
  const { method, path } = context.req;
  const { status, headers } = context.res;
  context.header('Date', context.get('date') ?? clock.httpDate());
  const bodyBytes = method === 'HEAD' ? 0 : Number(headers.get('Content-Length') ?? 0);
  counters.addAnswer(`${method} ${renderRoute(context)}`, status, bodyBytes);
  if (!readWebSettings(profiles.active).logRequests) return;
  const address = context.env.incoming.socket.remoteAddress ?? '-';
  logs.append('restd', `${address} "${method} ${path}" ${status} ${bodyBytes}`, 'restd');
});

/** Bounded by the known routes. Listing and reading of logs are counted separately: listing is cheap, reading is not. */
function renderRoute(context: RestContext): string {
  const path = context.req.path.slice(API_ROOT.length);
  if (path.startsWith('/configuration/')) return resourceTable.has(path.slice(15)) ? path : UNKNOWN;
  if (path.startsWith('/status/')) return context.env.device.life.has(path.slice(8)) ? path : UNKNOWN;
  // Middleware also matches, but with a star at the end.
  const route = matchedRoutes(context).findLast((match) => !match.path.endsWith('*'))?.path;
  if (route === undefined) return UNKNOWN;
  if (path !== '/download/log') return path;
  return `${path}?${context.req.query('list_files') === undefined ? 'log_file' : 'list_files'}`;
}
