import type { FleetShards, WebContent } from './content.ts';
import type { PeerFault } from './fan-out.ts';
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
  // No replica is known to have it, or it is on its way here.
  if (shards.names && (shards.names[other.shard] === undefined || other.shard === shards.index)) {
    return context.text('The router is moving to another replica; try again.\n', 503, { 'Retry-After': '1' });
  }
  return redirectTo(shards, other.shard, context, path, 'has this router');
}

/** Redirects a request to `path` of another process of the fleet; 421 if its address is not known. `what`: what the process has, as in `has this router`. */
export function redirectTo(
  shards: FleetShards,
  shard: number,
  context: WebContext,
  path: string,
  what: string,
): Response {
  const peer = shards.peers[shard];
  if (peer !== undefined) return context.redirect(`${peer}${path}${new URL(context.req.url).search}`, 307);
  const message = shards.names
    ? `Replica ${shards.names[shard]} ${what}, at no known address (cluster.nats.advertise).\n`
    : `Process ${shard} of ${shards.total} ${what} (--shard). List all processes in web.peers to be redirected.\n`;
  return context.text(message, 421);
}

/** True if a request asks for what this process has alone, as the other processes of the fleet do. */
export function isOwnAlone(context: WebContext): boolean {
  return context.req.query('own') === '1';
}

/** Keys of a JSON object that name the processes whose rows are missing; none when there are none. */
export function toUnanswered(faults: readonly PeerFault[]): object {
  return faults.length > 0 ? { unanswered: faults } : {};
}

/** Returns what a process of the fleet is called on pages: `process 1`, `replica b`. */
export function nameProcess({ names }: Pick<FleetShards, 'names'>, shard: number): string {
  const name = names?.[shard];
  return name === undefined ? `process ${shard}` : `replica ${name}`;
}

/** Returns the key of a process in addresses: its name in a cluster, whose indices change with its members, or its index. */
export function toProcessKey({ names }: Pick<FleetShards, 'names'>, shard: number): string {
  return names?.[shard] ?? String(shard);
}

/** Returns the index of the process with a key; `undefined` if there is none. */
export function findProcess(shards: FleetShards | undefined, key: string): number | undefined {
  const index = Array.from({ length: shards?.total ?? 0 }, (_, shard) => toProcessKey(shards ?? {}, shard)).indexOf(
    key,
  );
  return index === -1 ? undefined : index;
}
