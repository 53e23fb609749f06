import { resolve } from 'node:path';
import { CodedError, createSystemClock, isSelected, renderErrorChain } from '../../base/index.ts';
import { type Config, findShard } from '../../config/index.ts';
import {
  exportClusterState,
  exportState,
  type ImportedState,
  importClusterState,
  importState,
  type MovedState,
} from '../../store/index.ts';
import { type ConfigFlags, readConfig, refuseConfig } from '../configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { toClusterTransfer } from './cluster-transfer.ts';

/** The storage and the routers of which the state is moved. */
export interface StateFlags extends ConfigFlags {
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
  return withStorage(flags, io, async (storage) => {
    const { output, removes } = flags;
    const options = { ...storage, output: resolve(output), removes, now };
    const moved = 'path' in options ? exportState(options) : await exportClusterState(options);
    await writeResult(`${removes ? 'Moved' : 'Copied'} to ${output}: ${renderMoved(moved)}\n`, io);
    return EXIT.done;
  });
}

/** `state import`: adds the state of routers from files. */
export function importRouters(
  flags: StateFlags & { readonly inputs: readonly string[]; readonly replaces: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withStorage(flags, io, async (storage) => {
    for (const input of flags.inputs) {
      const options = { ...storage, input: resolve(input), replaces: flags.replaces, now };
      const imported: ImportedState = 'path' in options ? importState(options) : await importClusterState(options);
      const { known, ...added } = imported;
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

function renderMoved({ routers, logs, records, deadLetters }: MovedState): string {
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

/** The wanted routers of a folder, or of the cluster. */
type Storage =
  | { readonly path: string; readonly isWanted: (router: string) => boolean }
  | ReturnType<typeof toClusterTransfer>;

/** A folder that was named, the cluster of the configuration, or its folder without one. */
function findStorage(
  { storage, cluster, sinks }: Config,
  storagePath: string | undefined,
  isWanted: (router: string) => boolean,
  { signal }: CommandIo,
): Storage {
  if (storagePath !== undefined) return { path: resolve(storagePath), isWanted };
  if (!cluster) return { path: storage.path, isWanted };
  return toClusterTransfer(cluster, { isWanted, sinks: sinks.map(({ name }) => name), clock, signal });
}

async function withStorage(
  flags: StateFlags,
  io: CommandIo,
  work: (storage: Storage) => Promise<ExitCode>,
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
    return await work(findStorage(loaded.config, storagePath, isWanted, io));
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
