import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../base/index.ts';
import { parseBearer } from './server/access.ts';
import type { Handler, WebDependencies } from './server/context.ts';
import { parseBasic } from './server/passwords.ts';
import { answerForOther, type FleetContent } from './whole-fleet.ts';

/** What the notifications of routers need. */
export interface NotifyContent extends Pick<FleetContent, 'describeShards' | 'hasRouter'> {
  /** Returns the token that a router sends; `undefined` if it has none, or is not in the configuration of this process. */
  findNotifyToken(name: string): Secret | undefined;
  /** Requests one poll of a router, not sooner after the last one than for a fresh probe. */
  notify(name: string): void;
}

const toDigest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Creates the handler of `POST /api/v1/routers/NAME/notify`. Its token is its only authentication; the body is not read. The answer to a
 * wrong token is the same whether or not the router exists.
 */
export function createNotifyHandler({ content }: Pick<WebDependencies<NotifyContent>, 'content'>): Handler {
  return (context) => {
    const name = context.req.param('name') ?? '';
    const authorization = context.req.header('authorization');
    const given = parseBearer(authorization) ?? parseBasic(authorization)?.password ?? '';
    const known = content.findNotifyToken(name);
    const other = content.describeShards()?.others.get(name)?.notifyToken;
    const noToken = randomBytes(32).toString('hex');
    const expected = (known ?? other)?.reveal() ?? noToken;
    // The connection ends, so that the rest of a body is not received.
    const headers = { Connection: 'close' };
    if (!timingSafeEqual(toDigest(given), toDigest(expected))) {
      const challenge = { 'WWW-Authenticate': 'Bearer realm="router-exporter"' };
      return context.text('Unauthorized.\n', 401, { ...headers, ...challenge });
    }
    if (!content.hasRouter(name)) {
      const elsewhere = answerForOther(content, context, name, `/api/v1/routers/${name}/notify`);
      return elsewhere ?? context.text('The router is moving to another process; try again.\n', 503, headers);
    }
    content.notify(name);
    return context.text('Accepted.\n', 202, headers);
  };
}
