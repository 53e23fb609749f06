import { type Command, Option } from 'commander';
import type { CommandIo, ExitCode } from './io.ts';
import { collect, configOption } from './options.ts';

type Options = Record<string, unknown>;

/** Adds the commands that talk to one router of the configuration. */
export function addRouterCommands(program: Command, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('api')
    .description('Make any call of the REST interface, with the session handled.')
    .argument('<method>', 'GET, POST, PUT or DELETE; all but GET ask first')
    .argument('<path>', 'below /api/v2_0, as in /configuration/administration/users')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .option('--query <key=value>', 'query parameter; repeatable', collect, [])
    .option('--filter <json>', 'the query parameter "filter"')
    .option('--data <json>', 'body as JSON, or @ and the name of a file that holds it')
    .option('--output <file>', 'write the body of a GET to a file, as it comes')
    .option('--yes', 'do not ask')
    .action(async (method: string, path: string, router: string, options: Options) => {
      const { api } = await import('./api.ts');
      const flags = {
        ...toConfigFlag(options),
        method,
        path,
        router,
        query: options['query'] as string[],
        filter: options['filter'] as string | undefined,
        data: options['data'] as string | undefined,
        output: options['output'] as string | undefined,
        isAgreed: options['yes'] === true,
      };
      finish(await api(flags, io));
    });

  program
    .command('status')
    .description('Show what a router says about itself, as JSON or as metrics.')
    .argument('<router>', 'name in the configuration')
    .argument(
      '[resource...]',
      'status resources such as device_info or sysstat/wan; default: those that the agent reads',
    )
    .addOption(configOption())
    .option('--metrics', 'show the series instead')
    .action(async (router: string, resources: string[], options: Options) => {
      const { status } = await import('./status.ts');
      finish(await status({ ...toConfigFlag(options), router, resources, asMetrics: options['metrics'] === true }, io));
    });

  const logs = program.command('logs').description('List or fetch the log files of a router.');
  logs
    .command('list')
    .description('List the log files of a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .option('--json', 'the names as the router lists them')
    .action(async (router: string, options: Options) => {
      const { listLogs } = await import('./logs.ts');
      finish(await listLogs({ ...toConfigFlag(options), router, isJson: options['json'] === true }, io));
    });
  logs
    .command('fetch')
    .description('Download, decompress and parse logs once, to JSON lines on standard output.')
    .argument('<router>', 'name in the configuration')
    .argument('[file...]', 'names as logs list --json shows them; default: all')
    .addOption(configOption())
    .action(async (router: string, files: string[], options: Options) => {
      const { fetchLogs } = await import('./logs.ts');
      finish(await fetchLogs({ ...toConfigFlag(options), router, files }, io));
    });

  const profiles = program.command('profiles').description('List or download the stored profiles of a router.');
  profiles
    .command('list')
    .description('List the stored profiles of a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .option('--json', 'for programs')
    .action(async (router: string, options: Options) => {
      const { listProfiles } = await import('./profiles.ts');
      finish(await listProfiles({ ...toConfigFlag(options), router, isJson: options['json'] === true }, io));
    });
  profiles
    .command('download')
    .description('Download a stored profile. The file holds secrets and is readable by its owner alone.')
    .argument('<router>', 'name in the configuration')
    .argument('<profile>', 'name of the profile')
    .requiredOption('--output <file>', 'file to write')
    .addOption(
      new Option('--format <format>', 'binary can be loaded again; ascii can be read').choices(['binary', 'ascii']),
    )
    .addOption(configOption())
    .action(async (router: string, profile: string, options: Options) => {
      const { downloadProfile } = await import('./profiles.ts');
      const flags = {
        ...toConfigFlag(options),
        router,
        profile,
        output: String(options['output']),
        format: options['format'] as 'binary' | 'ascii' | undefined,
      };
      finish(await downloadProfile(flags, io));
    });
}

function toConfigFlag(options: Options): { readonly configFile: string } {
  return { configFile: String(options['config.file']) };
}
