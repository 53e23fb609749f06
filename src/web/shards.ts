import type { WebContent } from './content.ts';
import type { PeerFault } from './peers/peer-client.ts';
import { isMoving } from './peers/processes.ts';
import type { WebContext } from './web-dependencies.ts';

/**
 * Answers a request about a router of another process of the fleet: a redirect to `path` there if its address is
 * configured, otherwise 421. `undefined` if no process has the router. 503 while the router of a cluster moves here.
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
  if (shards.names) {
    const name = shards.names[other.shard];
    if (name === undefined || isMoving(shards, other.shard)) {
      return context.text('The router is moving to another replica; try again.\n', 503, { 'Retry-After': '1' });
    }
    if (peer === undefined) {
      return context.text(`Replica ${name} has this router, at no known address (cluster.nats.advertise).\n`, 421);
    }
  }
  if (peer !== undefined) return context.redirect(`${peer}${path}${new URL(context.req.url).search}`, 307);
  const message = `Process ${other.shard} of ${shards.total} polls this router (--shard). List all processes in web.peers to be redirected.\n`;
  return context.text(message, 421);
}

/** True if a request asks for what this process has alone, as the other processes of the fleet do. */
export function isOwnAlone(context: WebContext): boolean {
  return context.req.query('own') === '1';
}

/** Renders the processes that did not answer as one more key of a JSON object; empty when there are none. */
export function renderUnanswered(faults: readonly PeerFault[]): string {
  return faults.length > 0 ? `,"unanswered":${JSON.stringify(faults)}` : '';
}
