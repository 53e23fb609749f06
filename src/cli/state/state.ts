import { resolve } from 'node:path';
import { createSystemClock, isSelected, renderErrorChain } from '../../base/index.ts';
import { findShard } from '../../config/index.ts';
import { renderFault } from '../../settings/index.ts';
import { exportState, importState, type MovedState, StoreError } from '../../store/index.ts';
import { type ConfigFlags, readConfig } from '../configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';

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
  return withStorage(flags, io, async ({ path, isWanted }) => {
    const { output, removes } = flags;
    const moved = exportState({ path, output: resolve(output), isWanted, removes, now });
    await writeResult(`${removes ? 'Moved' : 'Copied'} to ${output}: ${renderMoved(moved)}\n`, io);
    return EXIT.done;
  });
}

/** `state import`: adds the state of routers from files. */
export function importRouters(
  flags: StateFlags & { readonly inputs: readonly string[]; readonly replaces: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withStorage(flags, io, async ({ path, isWanted }) => {
    for (const input of flags.inputs) {
      const { known, ...added } = importState({
        path,
        input: resolve(input),
        isWanted,
        replaces: flags.replaces,
        now,
      });
      await writeResult(`Added from ${input}: ${renderMoved(added)}\n`, io);
      if (known.length > 0) io.stderr.write(`Imported before, and left alone: ${known.length} routers of ${input}\n`);
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
  return parts.map(([count, noun]) => `${count} ${noun}${count === 1 ? '' : 's'}`).join(', ');
}

interface Storage {
  readonly path: string;
  readonly isWanted: (router: string) => boolean;
}

async function withStorage(
  flags: StateFlags,
  io: CommandIo,
  work: (storage: Storage) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { configFile, storagePath, globs, shard, totalShards } = flags;
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${renderFault(fault)}\n`);
    return EXIT.usage;
  }
  const { web, storage } = loaded.config;
  const total = totalShards ?? Math.max(1, web.peers?.length ?? 0);
  if (shard !== undefined && shard >= total) {
    io.stderr.write(`--for-shard ${shard} is not below the number of processes, ${total}; see --total-shards\n`);
    return EXIT.usage;
  }
  const isWanted = (router: string) =>
    (globs.length === 0 || isSelected(router, globs)) && (shard === undefined || findShard(router, total) === shard);
  try {
    return await work({ path: storagePath === undefined ? storage.path : resolve(storagePath), isWanted });
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
