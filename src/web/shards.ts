import type { WebContent } from './content.ts';
import type { WebContext } from './web-dependencies.ts';

/**
 * Answers a request about a router of another process of the fleet: a redirect to `path` there if its address is
 * configured, otherwise 421. `undefined` if no process has the router.
 */
export function answerForOther(
  content: WebContent,
  context: WebContext,
  router: string,
  path: string,
): Response | undefined {
  const shards = content.describeShards();
  const other = shards?.others.get(router);
  if (!shards || !other) return undefined;
  const peer = shards.peers[other.shard];
  if (peer !== undefined) return context.redirect(`${peer}${path}${new URL(context.req.url).search}`, 307);
  const message = `Process ${other.shard} of ${shards.total} polls this router (--shard). List all processes in web.peers to be redirected.\n`;
  return context.text(message, 421);
}
