import type { LogLine } from '../api/logs.ts';
import type { FleetShards, WebContent } from '../content.ts';

/** Returns what a process of the fleet is called on pages: `process 1`, `replica b`. */
export function nameProcess({ names }: Pick<FleetShards, 'names'>, shard: number): string {
  const name = names?.[shard];
  return name === undefined ? `process ${shard}` : `replica ${name}`;
}

/** Tells whether lines that a process sends are of its own routers; an unknown process has none. */
export function isOwnedBy(
  shards: FleetShards | undefined,
  shard: number | undefined,
): (line: Pick<LogLine, 'router'>) => boolean {
  return ({ router }) => shard !== undefined && shards?.others.get(router)?.shard === shard;
}

/** Returns the index of the process that has a router; `undefined` without a router, and when nobody is known to have it. */
export function findOwner(
  content: WebContent,
  shards: FleetShards | undefined,
  router: string | undefined,
): number | undefined {
  if (!shards || router === undefined) return undefined;
  return content.hasRouter(router) ? shards.index : shards.others.get(router)?.shard;
}

/** True for a router of a cluster that no replica has at the moment; `shard`: the process that is known to have it. */
export function isMoving({ index, names }: Pick<FleetShards, 'index' | 'names'>, shard: number): boolean {
  return names !== undefined && (names[shard] === undefined || shard === index);
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
