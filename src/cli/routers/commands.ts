import {
  collect,
  configOption,
  Option,
  type Program,
  parseWholeNumber,
  storageOption,
  toConfigFlags,
} from '../options.ts';
import type { CommandIo, ExitCode } from '../terminal/io.ts';

/** Maximum version number; more than a backup can keep. */
const VERSIONS_MAX = 1000;

/** Adds the commands that work with configured routers. */
export function addRouterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('api')
    .description(
      'Make any call of the REST interface in a session. Prints the response: JSON indented, everything else unchanged.',
    )
    .argument('<method>', 'GET, POST, PUT or DELETE; all but GET ask for confirmation')
    .argument('<path>', 'below /api/v2_0, as in /configuration/administration/users')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--query <key=value>', 'query parameter; repeatable', collect, [])
    .option('--filter <json>', 'the query parameter "filter"')
    .option('--data <json>', 'body as JSON, or @ and the name of a file that contains it')
    .option('--output <file>', 'write the unchanged body of a GET to a file')
    .option('--yes', 'do not ask')
    .action(async (method, path, router, options) => {
      const { api } = await import('./api.ts');
      const flags = {
        ...toConfigFlags(options),
        method,
        path,
        router,
        query: options.query,
        filter: options.filter,
        data: options.data,
        output: options.output,
        isAgreed: options.yes === true,
      };
      finish(await api(flags, io));
    });

  program
    .command('action')
    .description('Have a router carry out one manual action. It is sent once; asks for confirmation.')
    .argument('<type>', 'type of the action, such as reboot, info_led or wan_chain')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--option <key=value>', 'option of the action; repeatable', collect, [])
    .option('--yes', 'do not ask')
    .action(async (type, router, options) => {
      const { action } = await import('./api.ts');
      const isAgreed = options.yes === true;
      finish(await action({ ...toConfigFlags(options), type, router, options: options.option, isAgreed }, io));
    });

  program
    .command('status')
    .description('Show the status of a router, as JSON or as metrics.')
    .argument('<router>', 'name in the configuration')
    .argument(
      '[resource...]',
      'status resources such as device_info or sysstat/wan; default: those that the agent reads',
    )
    .addOption(configOption())
    .addOption(storageOption())
    .option('--metrics', 'show metrics instead of JSON')
    .action(async (router, resources, options) => {
      const { status } = await import('./status.ts');
      finish(await status({ ...toConfigFlags(options), router, resources, asMetrics: options.metrics === true }, io));
    });

  program
    .command('doctor')
    .description('Test routers and sinks step by step, and report what fails and what to do about it.')
    .argument(
      '[router...]',
      'names in the configuration; default: all that it neither pauses nor retires, then the sinks',
    )
    .addOption(configOption())
    .addOption(storageOption())
    .option('--verbose', 'show all steps of every router, however many there are')
    .option('--json', 'for programs')
    .action(async (routers, options) => {
      const { doctor } = await import('../doctor/doctor.ts');
      const flags = {
        ...toConfigFlags(options),
        routers,
        isVerbose: options.verbose === true,
        isJson: options.json === true,
      };
      finish(await doctor(flags, io));
    });

  program
    .command('discover')
    .description(
      'Find the resources a router returns, and print modules (YAML, for module_files) for fields that no module covers.',
    )
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--openapi <file>', 'request the status resources of this OpenAPI file instead of the known ones')
    .option('--dump <folder>', 'save the responses; numbers of devices and people, addresses and secrets are masked')
    .option('--force', 'overwrite the files of an earlier dump')
    .option('--json', 'for programs')
    .action(async (router, options) => {
      const { discover } = await import('../discover.ts');
      const flags = {
        ...toConfigFlags(options),
        router,
        openApiFile: options.openapi,
        dumpFolder: options.dump,
        isForced: options.force === true,
        isJson: options.json === true,
      };
      finish(await discover(flags, io));
    });

  const logs = program.command('logs').description('List or fetch the log files of a router.');
  logs
    .command('list')
    .description('List the log files of a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sizes', 'with sizes: one request for each file, as routers list names alone')
    .option('--json', 'the names as the router lists them')
    .action(async (router, options) => {
      const { listLogs } = await import('./logs.ts');
      finish(
        await listLogs(
          {
            ...toConfigFlags(options),
            router,
            isJson: options.json === true,
            hasSizes: options.sizes === true,
          },
          io,
        ),
      );
    });
  logs
    .command('fetch')
    .description('Download, decompress and parse logs once, to JSON lines on standard output.')
    .argument('<router>', 'name in the configuration')
    .argument('[file...]', 'names as logs list --json shows them; default: all')
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (router, files, options) => {
      const { fetchLogs } = await import('./logs.ts');
      finish(await fetchLogs({ ...toConfigFlags(options), router, files }, io));
    });

  const profiles = program
    .command('profiles')
    .description('Stored profiles of a router, and their backed-up versions.');
  profiles
    .command('list')
    .description('List the stored profiles of a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--json', 'for programs')
    .action(async (router, options) => {
      const { listProfiles } = await import('./profiles.ts');
      finish(await listProfiles({ ...toConfigFlags(options), router, isJson: options.json === true }, io));
    });
  profiles
    .command('download')
    .description('Download a stored profile. The file contains secrets and is readable only by its owner.')
    .argument('<router>', 'name in the configuration')
    .argument('<profile>', 'name of the profile')
    .requiredOption('--output <file>', 'file to write')
    .addOption(
      new Option('--format <format>', 'binary can be restored on a router; ascii is readable').choices([
        'binary',
        'ascii',
      ]),
    )
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (router, profile, options) => {
      const { downloadProfile } = await import('./profiles.ts');
      const flags = {
        ...toConfigFlags(options),
        router,
        profile,
        output: options.output,
        format: options.format,
      };
      finish(await downloadProfile(flags, io));
    });
  profiles
    .command('versions')
    .description('List the backed-up versions of profiles, without contacting a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--json', 'for programs')
    .action(async (router, options) => {
      const { listVersions } = await import('./profiles.ts');
      finish(await listVersions({ ...toConfigFlags(options), router, isJson: options.json === true }, io));
    });
  profiles
    .command('diff')
    .description(
      'Compare two backed-up versions of profiles, without contacting a router. The output may contain secrets.',
    )
    .argument('<router>', 'name in the configuration')
    .option('--profile <name>', 'one profile (default: every profile with versions)')
    .option('--from <number>', 'the older version as profiles versions numbers it', parseWholeNumber(1, VERSIONS_MAX))
    .option('--to <number>', 'the newer version; 1 is the newest', parseWholeNumber(1, VERSIONS_MAX))
    .addOption(configOption())
    .addOption(storageOption())
    .option('--json', 'for programs')
    .action(async (router, options) => {
      const { diffProfiles } = await import('./profiles.ts');
      const flags = {
        ...toConfigFlags(options),
        router,
        profile: options.profile,
        from: options.from,
        to: options.to,
        isJson: options.json === true,
      };
      finish(await diffProfiles(flags, io));
    });
}
