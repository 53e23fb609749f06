import type { Hono, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type Account, type Group, hasRight } from '../device/sessions.ts';
import { parseJsonObject, Rejection } from '../rejection.ts';
import { answerJson, answerRejection, type RestContext, type RestEnv, readBody } from './answer.ts';

/** Adds login, refresh and logout: the only calls without an access token. */
export function addAuthRoutes(api: Hono<RestEnv>): void {
  api.post('/auth/login', async (context) => {
    const credentials = parseCredentials(await readBody(context));
    if (credentials instanceof Rejection) return answerRejection(context, credentials);
    const tokens = context.env.device.sessions.login(credentials.username, credentials.password);
    if (tokens) return answerJson(context, 200, tokens);
    return answerRejection(
      context,
      Rejection.of(401, 'login', 'wrong username or password, or locked after a failed attempt'),
    );
  });
  api.post('/auth/refresh', async (context) => {
    const tokens = context.env.device.sessions.refresh(readBearer(context));
    return tokens ? answerJson(context, 200, tokens) : answerUnauthorized(context);
  });
  api.post('/auth/logout', async (context) => {
    const isEnded = context.env.device.sessions.logout(readBearer(context));
    return isEnded ? answerJson(context, 200, {}) : answerUnauthorized(context);
  });
}

/** Rejects requests without a valid access token, and stores the account for the handlers. */
export const requireAccess: MiddlewareHandler<RestEnv> = createMiddleware<RestEnv>(async (context, next) => {
  const { sessions } = context.env.device;
  const account = sessions.authenticate(readBearer(context)) ?? readBasicAccount(context);
  if (!account) return answerUnauthorized(context);
  context.set('account', account);
  return next();
});

/** Rejects accounts without the rights of `needed`. */
export function requireGroup(needed: Group): MiddlewareHandler<RestEnv> {
  return createMiddleware<RestEnv>(async (context, next) => {
    if (hasRight(context.get('account').group, needed)) return next();
    return answerRejection(context, Rejection.of(403, 'authorization', 'insufficient rights'));
  });
}

/** Empty, which is never valid, without the header. */
function readBearer(context: RestContext): string {
  return /^Bearer ([\w.~+/=-]+)$/i.exec(context.req.header('Authorization') ?? '')?.[1] ?? '';
}

/** `undefined` if basic authentication is disabled. */
function readBasicAccount(context: RestContext): Account | undefined {
  const { device, features } = context.env;
  const encoded = /^Basic ([\w+/=]+)$/i.exec(context.req.header('Authorization') ?? '')?.[1];
  if (!features.basicAuth || encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = credentials.indexOf(':');
  return device.sessions.verify(credentials.slice(0, colon), credentials.slice(colon + 1));
}

function answerUnauthorized(context: RestContext): Response {
  return answerRejection(context, Rejection.of(401, 'authentication', 'missing, expired or invalid token'));
}

function parseCredentials(
  body: string | Rejection,
): { readonly username: string; readonly password: string } | Rejection {
  const parsed = parseJsonObject(body, ['username', 'password']);
  if (parsed instanceof Rejection) return parsed;
  const { username, password } = parsed;
  if (typeof username !== 'string') return Rejection.of(400, 'username', 'a string is required');
  if (typeof password !== 'string') return Rejection.of(400, 'password', 'a string is required');
  return { username, password };
}
