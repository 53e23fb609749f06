import {
  Argument,
  collect,
  configOption,
  type Program,
  parseShard,
  parseWholeNumber,
  SHARDS_MAX,
  toConfigFlags,
} from '../options.ts';
import type { CommandIo, ExitCode } from '../terminal/io.ts';

/** Adds `state` and its subcommands. They need a stopped agent, or in a cluster routers that no replica has. */
export function addStateCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const state = program
    .command('state')
    .description('Move positions, undelivered records and dead letters of routers to another storage.');
  state
    .command('export')
    .description('Write the state of routers to a file. Stop the agent first.')
    .addOption(configOption())
    .requiredOption('--output <file>', 'file to write')
    .option('--storage.path <folder>', 'this folder (default: the cluster of the file, or else its storage.path)')
    .option('--routers <glob>', 'these routers, "!" excludes; repeatable (default: all)', collect, [])
    .option('--for-shard <index>', 'the routers of this process among --total-shards', parseShard)
    .option('--total-shards <count>', TOTAL_SHARDS, parseWholeNumber(1, SHARDS_MAX))
    .option('--remove', 'remove from the storage what was written')
    .action(async (options) => {
      const { exportRouters } = await import('./state.ts');
      const flags = { ...toSelection(options), output: options.output, removes: options.remove === true };
      finish(await exportRouters(flags, io));
    });
  state
    .command('import')
    .description('Add the state of routers from files of state export. Stop the agent first.')
    .addArgument(new Argument('<file...>', 'files that state export has written'))
    .addOption(configOption())
    .option('--storage.path <folder>', 'this folder (default: the cluster of the file, or else its storage.path)')
    .option('--routers <glob>', 'these routers, "!" excludes; repeatable (default: all)', collect, [])
    .option('--for-shard <index>', 'the routers of this process among --total-shards', parseShard)
    .option('--total-shards <count>', TOTAL_SHARDS, parseWholeNumber(1, SHARDS_MAX))
    .option('--replace', 'replace positions that the storage already has for these routers')
    .action(async (files, options) => {
      const { importRouters } = await import('./state.ts');
      const flags = { ...toSelection(options), inputs: files, replaces: options.replace === true };
      finish(await importRouters(flags, io));
    });
}

const TOTAL_SHARDS = 'number of processes that share the routers (default: those of web.peers)';

function toSelection(options: {
  readonly 'config.file': string;
  readonly 'storage.path'?: string | undefined;
  readonly routers: readonly string[];
  readonly forShard?: number | undefined;
  readonly totalShards?: number | undefined;
}) {
  return {
    ...toConfigFlags(options),
    globs: options.routers,
    shard: options.forShard,
    totalShards: options.totalShards,
  };
}
