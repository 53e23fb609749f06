import { configOption, type Program } from '../options.ts';
import type { CommandIo, ExitCode } from '../terminal/io.ts';

/** Adds `cluster` and its subcommands. They work with the engine alone, whether replicas run or not. */
export function addClusterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const cluster = program.command('cluster').description('Several replicas that share the routers.');
  cluster
    .command('init')
    .description('Create what the replicas need in NATS. Changes nothing that exists.')
    .addOption(configOption())
    .action(async (options) => {
      const { initCluster } = await import('./cluster.ts');
      finish(await initCluster({ configFile: options['config.file'] }, io));
    });
  cluster
    .command('status')
    .description('List the replicas and the routers of each; 0 if all know the same routers and none is missing.')
    .addOption(configOption())
    .option('--json', 'for programs')
    .action(async (options) => {
      const { showCluster } = await import('./cluster.ts');
      finish(await showCluster({ configFile: options['config.file'], isJson: options.json === true }, io));
    });
}
