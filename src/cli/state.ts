import { resolve } from 'node:path';
import { CodedError, createSystemClock, isSelected, openDeadline, renderErrorChain } from '../base/index.ts';
import { type ClusterSettings, readView, toNatsServers, withBucket } from '../cluster/index.ts';
import { type Config, findShard } from '../config/index.ts';
import { exportState, importState, inCluster, onDisk, type StatePlace, type TransferResult } from '../store/index.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './terminal/io.ts';

/** The storage and the routers of which the state is moved. */
interface StateFlags extends ConfigFlags {
  /** Selects routers by name; empty = all. */
  readonly globs: readonly string[];
  /** Index of the process whose routers are selected. Default: any. */
  readonly shard: number | undefined;
  /** Number of processes. Default: that of `web.peers`. */
  readonly totalShards: number | undefined;
}

/** `state export`: writes the state of routers to a file. */
export function exportRouters(
  flags: StateFlags & { readonly output: string; readonly removes: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withPlace(flags, io, false, async (place, isWanted) => {
    const { output, removes } = flags;
    const moved = await exportState(place, { isWanted, output: resolve(output), removes, now });
    await writeResult(`${removes ? 'Moved' : 'Copied'} to ${output}: ${renderMoved(moved)}\n`, io);
    return EXIT.done;
  });
}

/** `state import`: adds the state of routers from files. */
export function importRouters(
  flags: StateFlags & { readonly inputs: readonly string[]; readonly replaces: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withPlace(flags, io, true, async (place, isWanted) => {
    const { replaces } = flags;
    for (const input of flags.inputs) {
      const { known, ...added } = await importState(place, { isWanted, input: resolve(input), replaces, now });
      await writeResult(`Added from ${input}: ${renderMoved(added)}\n`, io);
      if (known.length > 0) {
        io.stderr.write(`Imported before, and left alone: ${renderCount(known.length, 'router')} of ${input}\n`);
      }
    }
    return EXIT.done;
  });
}

const clock = createSystemClock();
const now = () => clock.now();

function renderMoved({ routers, logs, records, deadLetters }: TransferResult): string {
  const parts = [
    [routers.length, 'router'],
    [logs, 'log position'],
    [records, 'undelivered record'],
    [deadLetters, 'dead letter'],
  ] as const;
  return parts.map(([count, noun]) => renderCount(count, noun)).join(', ');
}

function renderCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A folder that was named, the cluster of the configuration, or its folder without one. */
function findPlace(
  { storage, cluster, sinks }: Config,
  storagePath: string | undefined,
  creates: boolean,
  { signal }: CommandIo,
): StatePlace {
  if (storagePath === undefined && cluster) {
    const names = sinks.map(({ name }) => name);
    return toClusterPlace(cluster, names, signal);
  }
  return onDisk({ path: storagePath === undefined ? storage.path : resolve(storagePath), creates, now });
}

async function withPlace(
  flags: StateFlags,
  io: CommandIo,
  creates: boolean,
  work: (place: StatePlace, isWanted: (router: string) => boolean) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { configFile, storagePath, globs, shard, totalShards } = flags;
  const loaded = await readConfig(configFile);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { web } = loaded.config;
  const total = totalShards ?? Math.max(1, web.peers?.length ?? 0);
  if (shard !== undefined && shard >= total) {
    io.stderr.write(`--for-shard ${shard} is not below the number of processes, ${total}; see --total-shards\n`);
    return EXIT.usage;
  }
  const isWanted = (router: string) =>
    (globs.length === 0 || isSelected(router, globs)) && (shard === undefined || findShard(router, total) === shard);
  try {
    return await work(findPlace(loaded.config, storagePath, creates, io), isWanted);
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}

/** The replicas hold a router that was to be moved. */
class RoutersHeld extends CodedError<'held'> {
  override readonly name = 'RoutersHeld';
}

/** Time limit of a look at the replicas. Milliseconds. */
const LOOK_MS_MAX = 30_000;

/** Returns the cluster as a place of state: only of routers that no living replica has, or would take. */
function toClusterPlace(settings: ClusterSettings, sinks: readonly string[], signal: AbortSignal): StatePlace {
  return inCluster({
    servers: toNatsServers(settings, clock),
    cluster: settings.name,
    sinks,
    async checkFree(routers: readonly string[]): Promise<void> {
      using deadline = openDeadline(clock, LOOK_MS_MAX, signal);
      const view = await withBucket(settings, clock, deadline.signal, (bucket) =>
        readView(bucket, clock, deadline.signal),
      );
      const held = routers.flatMap((router) => {
        const replica = view.findHolder(router)?.replica ?? view.findRouterOwner(router);
        return replica === undefined ? [] : [{ router, replica }];
      });
      const [first] = held;
      if (!first) return;
      throw new RoutersHeld(
        'held',
        `Replicas have ${held.length} of these routers, such as ${first.router} at ${first.replica}`,
        {
          disposition: 'operator',
          hint: 'Stop the replicas, or take these routers out of their configuration; a replica that was killed lets go when its lease ends',
        },
      );
    },
  });
}
