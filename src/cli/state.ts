import { resolve } from 'node:path';
import {
  CodedError,
  createSystemClock,
  isSelected,
  openDeadline,
  renderErrorChain,
  renderMany,
} from '../base/index.ts';
import { type ClusterSettings, loadCluster } from '../cluster/index.ts';
import { type Config, findShard } from '../config/index.ts';
import type { StatePlace } from '../model/index.ts';
import { exportState, importState, onDisk, type TransferResult } from '../store/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './support/io.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './support/read-config.ts';

interface StateFlags extends ConfigFlags {
  readonly routers: readonly string[];
  readonly forShard?: number | undefined;
  /** Number of processes. Default: that of `web.peers`. */
  readonly totalShards?: number | undefined;
}

/** `state export`: writes the state of routers to a file. */
export function exportStateFile(
  flags: StateFlags & { readonly output: string; readonly remove?: boolean | undefined },
  io: CommandIo,
): Promise<ExitCode> {
  return withPlace(flags, io, false, async (place, isWanted) => {
    const { output, remove: removes = false } = flags;
    const moved = await exportState(place, { isWanted, output: resolve(output), removes, now });
    await writeResult(`${removes ? 'Moved' : 'Copied'} to ${output}: ${renderMoved(moved)}\n`, io);
    return EXIT.done;
  });
}

/** `state import`: adds the state of routers from files. */
export function importStateFiles(
  flags: StateFlags & { readonly inputs: readonly string[]; readonly replace?: boolean | undefined },
  io: CommandIo,
): Promise<ExitCode> {
  return withPlace(flags, io, true, async (place, isWanted) => {
    const { replace: replaces = false } = flags;
    for (const input of flags.inputs) {
      const { known, ...added } = await importState(place, { isWanted, input: resolve(input), replaces, now });
      await writeResult(`Added from ${input}: ${renderMoved(added)}\n`, io);
      if (known.length > 0) {
        io.stderr.write(`Already imported, unchanged: ${renderMany(known.length, 'router')} of ${input}\n`);
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
  return parts.map(([count, noun]) => renderMany(count, noun)).join(', ');
}

/** An explicit folder, the cluster of the configuration, or the configured folder. */
async function findPlace(
  { storage, cluster, sinks }: Config,
  storagePath: string | undefined,
  creates: boolean,
  { signal }: CommandIo,
): Promise<StatePlace> {
  if (storagePath === undefined && cluster) {
    const names = sinks.map(({ name }) => name);
    return await toClusterPlace(cluster, names, signal);
  }
  return onDisk({ path: storagePath === undefined ? storage.path : resolve(storagePath), creates, now });
}

async function withPlace(
  flags: StateFlags,
  io: CommandIo,
  creates: boolean,
  work: (place: StatePlace, isWanted: (router: string) => boolean) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { 'storage.path': storagePath, routers: globs, forShard: shard, totalShards } = flags;
  const loaded = await readConfig(flags);
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
    return await work(await findPlace(loaded.config, storagePath, creates, io), isWanted);
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}

class RoutersHeld extends CodedError<'held'> {
  override readonly name = 'RoutersHeld';
}

const LOOK_MS_MAX = 30_000;

/** Only with routers that no live replica holds or would acquire. */
async function toClusterPlace(
  settings: ClusterSettings,
  sinks: readonly string[],
  signal: AbortSignal,
): Promise<StatePlace> {
  const { inCluster, readView, toNatsServers, withBucket } = await loadCluster();
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
          hint: 'Stop the replicas, or take these routers out of their configuration; a killed replica releases them when its lease expires',
        },
      );
    },
  });
}
