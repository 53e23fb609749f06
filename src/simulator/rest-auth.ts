import type { Context, Hono, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type Group, hasRight } from './accounts.ts';
import type { Device } from './device.ts';
import { answerFault, answerJson, type RestEnv } from './rest-answer.ts';

/** Adds login, refresh and logout: the only calls that do not need an access token. */
export function addAuthRoutes(api: Hono<RestEnv>, { sessions }: Device): void {
  api.post('/auth/login', async (context) => {
    const credentials = parseCredentials(await context.req.text());
    if ('key' in credentials) return answerFault(context, 400, credentials.key, credentials.text);
    const tokens = await sessions.login(credentials.username, credentials.password);
    return tokens ? answerJson(context, 200, tokens) : answerFault(context, 401, 'login', 'wrong username or password');
  });
  api.post('/auth/refresh', async (context) => {
    const tokens = await sessions.refresh(readBearer(context));
    return tokens ? answerJson(context, 200, tokens) : answerUnauthorized(context);
  });
  api.post('/auth/logout', async (context) => {
    return (await sessions.logout(readBearer(context))) ? answerJson(context, 200, {}) : answerUnauthorized(context);
  });
}

/** Lets only requests with a valid access token pass, and remembers whose it is. */
export function requireAccess({ sessions }: Device): MiddlewareHandler<RestEnv> {
  return createMiddleware<RestEnv>(async (context, next) => {
    const account = await sessions.authenticate(readBearer(context));
    if (!account) return answerUnauthorized(context);
    context.set('account', account);
    return next();
  });
}

/** Lets only members of `needed` or a group above it pass. */
export function requireGroup(needed: Group): MiddlewareHandler<RestEnv> {
  return createMiddleware<RestEnv>(async (context, next) => {
    if (hasRight(context.get('account').group, needed)) return next();
    return answerFault(context, 403, 'authorization', 'insufficient rights');
  });
}

/** The token of an `Authorization: Bearer` header; empty, which no token is, when there is none. */
function readBearer(context: Context): string {
  return /^Bearer ([\w.~+/=-]+)$/i.exec(context.req.header('Authorization') ?? '')?.[1] ?? '';
}

function answerUnauthorized(context: Context): Response {
  return answerFault(context, 401, 'authentication', 'missing, expired or invalid token');
}

interface Credentials {
  readonly username: string;
  readonly password: string;
}

interface CredentialsFault {
  readonly key: string;
  readonly text: string;
}

function parseCredentials(body: string): Credentials | CredentialsFault {
  if (body === '') return { key: 'content', text: 'no content provided' };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { key: 'json', text: 'malformed JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { key: 'json', text: 'an object is expected' };
  }
  const { username, password, ...others } = value as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return { key: unknown, text: 'unknown parameter' };
  if (typeof username !== 'string') return { key: 'username', text: 'a string is required' };
  if (typeof password !== 'string') return { key: 'password', text: 'a string is required' };
  return { username, password };
}
