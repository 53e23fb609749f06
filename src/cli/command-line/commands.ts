import { parseDuration } from '../../base/index.ts';
import { LIFECYCLE_STATES } from '../../model/index.ts';
import type { CommandIo, ExitCode } from '../support/io.ts';
import {
  Argument,
  collect,
  configOption,
  InvalidArgumentError,
  Option,
  type Program,
  parseShard,
  parseWholeNumber,
  SHARDS_MAX,
  storageOption,
} from './options.ts';

/** More than a backup can keep. */
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
      const { api } = await import('../api.ts');
      finish(await api({ ...options, method, path, router }, io));
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
      const { action } = await import('../api.ts');
      finish(await action({ ...options, type, router }, io));
    });

  program
    .command('status')
    .description('Show the status of a router: an overview on a terminal, as JSON, or as metrics.')
    .argument('<router>', 'name in the configuration')
    .argument(
      '[resource...]',
      'status resources such as device_info or sysstat/wan; default: those that the agent reads',
    )
    .addOption(configOption())
    .addOption(storageOption())
    .option('--metrics', 'show metrics instead')
    .option('--json', 'show JSON also on a terminal; the default for resources, and elsewhere')
    .action(async (router, resources, options) => {
      const { status } = await import('../status.ts');
      finish(await status({ ...options, router, resources }, io));
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
      finish(await doctor({ ...options, routers }, io));
    });

  program
    .command('discover')
    .description(
      'Find the resources a router returns, and print modules (YAML, for module_files) for fields that no module covers.',
    )
    .argument('[router]', 'name in the configuration; required without --from')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--from <file>', 'draft modules for the resources of this bundle that no built-in module reads')
    .option('--output <folder>', 'with --from: folder for the modules, and for the metrics they must make as a test')
    .option('--openapi <file>', 'request the status resources of this OpenAPI file instead of the known ones')
    .option('--dump <folder>', 'save the responses; numbers of devices and people, addresses and secrets are masked')
    .option('--force', 'overwrite the files of an earlier dump or draft')
    .option('--json', 'for programs')
    .action(async (router, options, command) => {
      const { from, output } = options;
      if (router !== undefined && from === undefined && output === undefined) {
        const { discover } = await import('../discover.ts');
        finish(await discover({ ...options, router }, io));
      } else if (router === undefined && from !== undefined && output !== undefined) {
        const { draftModules } = await import('../draft-modules.ts');
        finish(await draftModules({ from, output, force: options.force }, io));
      } else command.error('error: specify either a router, or --from and --output');
    });

  program
    .command('bundle')
    .description(
      'Write a masked bundle of what a router answers, for people who do not have the device. Asks for confirmation.',
    )
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--output <file>', 'file to write (default: bundle-TIME.json.gz)')
    .option('--logs', 'add the first lines of the live log files, masked')
    .option('--yes', 'do not ask')
    .action(async (router, options) => {
      const { bundle } = await import('../bundle.ts');
      finish(await bundle({ ...options, router }, io));
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
      const { listLogs } = await import('../logs.ts');
      finish(await listLogs({ ...options, router }, io));
    });
  logs
    .command('fetch')
    .description('Download, decompress and parse logs once, to JSON lines on standard output.')
    .argument('<router>', 'name in the configuration')
    .argument('[file...]', 'names as logs list --json shows them; default: all')
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (router, files, options) => {
      const { fetchLogs } = await import('../logs.ts');
      finish(await fetchLogs({ ...options, router, files }, io));
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
      const { listProfiles } = await import('../profiles.ts');
      finish(await listProfiles({ ...options, router }, io));
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
      const { downloadProfile } = await import('../profiles.ts');
      finish(await downloadProfile({ ...options, router, profile }, io));
    });
  profiles
    .command('versions')
    .description('List the backed-up versions of profiles, without contacting a router.')
    .argument('<router>', 'name in the configuration')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--json', 'for programs')
    .action(async (router, options) => {
      const { listVersions } = await import('../profiles.ts');
      finish(await listVersions({ ...options, router }, io));
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
      const { diffProfiles } = await import('../profiles.ts');
      finish(await diffProfiles({ ...options, router }, io));
    });
}

const AGENT_URL = 'http://localhost:9847';

const STATES: readonly string[] = [...new Set(['up', 'down', 'budget', 'unknown', ...LIFECYCLE_STATES])];

/** Adds the commands that query a running agent, or Grafana. */
export function addAgentCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('fleet')
    .description('List the routers of a running agent with their states.')
    .option('--url <url>', 'address of the agent', AGENT_URL)
    .option('--state <state>', 'only routers in this state: up, down, maintenance, …; repeatable', collectState, [])
    .option('--token-file <file>', 'file with a bearer token of the agent')
    .option('--username <name>', 'user of the agent; requires --password-file')
    .option('--password-file <file>', 'file with the password of the user')
    .option('--ca-file <file>', 'PEM file with the certificate authorities to trust for the agent')
    .option('--json', 'for programs: the entries of /api/v1/routers')
    .action(async (options) => {
      const { fleet } = await import('../fleet.ts');
      finish(await fleet(options, io));
    });
  program
    .command('grafana')
    .description('Dashboards in a Grafana.')
    .command('import')
    .description('Create the dashboards in a Grafana through its HTTP API.')
    .argument('<url>', 'address of Grafana')
    .option('--token-file <file>', 'file with the token of a service account (default: the variable GRAFANA_TOKEN)')
    .option('--username <name>', 'user of Grafana; requires --password-file')
    .option('--password-file <file>', 'file with the password of the user')
    .option('--ca-file <file>', 'PEM file with the authorities that the certificate of Grafana may be of')
    .option('--folder-uid <uid>', 'folder for the dashboards (default: "Routers", which is created)')
    .option('--prometheus <uid>', 'data source that the dashboards start with (default: that of Grafana)')
    .option('--loki <uid>', 'data source of log lines that they start with')
    .option('--overwrite', 'replace dashboards that are there already')
    .action(async (url, options) => {
      const { importDashboards } = await import('../grafana.ts');
      finish(await importDashboards({ ...options, url }, io));
    });
}

function collectState(state: string, earlier: readonly string[]): readonly string[] {
  if (!STATES.includes(state)) throw new InvalidArgumentError(`Expected one of ${STATES.join(', ')}.`);
  return collect(state, earlier);
}

const LIST_MAX = 100_000;

/** They work while the agent runs. */
export function addDeadLetterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const deadLetters = program.command('dead-letters').description('Records that a sink rejected permanently.');
  deadLetters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--limit <count>', 'how many', parseWholeNumber(1, LIST_MAX), 50)
    .option('--json', 'for programs')
    .action(async (options) => {
      const { listDeadLetters } = await import('../dead-letters.ts');
      finish(await listDeadLetters(options, io));
    });
  deadLetters
    .command('show')
    .description('Show one dead letter with its record.')
    .argument('<number>', 'as dead-letters list shows it', parseNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (id, options) => {
      const { showDeadLetter } = await import('../dead-letters.ts');
      finish(await showDeadLetter({ ...options, id }, io));
    });
  deadLetters
    .command('replay')
    .description('Have the agent retry dead letters, within 30 s if it is running.')
    .argument('[number...]', 'as dead-letters list shows them', collectNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--all', 'all, or all of --sink')
    .action(async (ids, options) => {
      requireChoice(deadLetters, ids, options);
      const { replayDeadLetters } = await import('../dead-letters.ts');
      finish(await replayDeadLetters({ ...options, ids: ids ?? [] }, io));
    });
  deadLetters
    .command('drop')
    .description('Remove dead letters permanently. Asks for confirmation.')
    .argument('[number...]', 'as dead-letters list shows them', collectNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--older-than <duration>', 'only those older than this, such as 7d', parseAge)
    .option('--all', 'all, or all of --sink')
    .option('--yes', 'do not ask')
    .action(async (ids, options) => {
      requireChoice(deadLetters, ids, options);
      const { dropDeadLetters } = await import('../dead-letters.ts');
      finish(await dropDeadLetters({ ...options, ids: ids ?? [] }, io));
    });
}

/** An explicit selection is required: `drop` alone must not mean all. */
function requireChoice(
  command: Program,
  ids: readonly number[] | undefined,
  options: { readonly all?: boolean | undefined; readonly olderThan?: number | undefined },
): void {
  const isChosen = (ids?.length ?? 0) > 0 || options.all === true || options.olderThan !== undefined;
  if (!isChosen) command.error('error: specify numbers as shown by dead-letters list, or --all');
}

const parseNumber = parseWholeNumber(1, Number.MAX_SAFE_INTEGER);

function collectNumber(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, parseNumber(text)];
}

function parseAge(text: string): number {
  const ageMs = parseDuration(text);
  if (ageMs === undefined) throw new InvalidArgumentError('Expected a duration with its unit, as in 12h or 7d.');
  return ageMs;
}

/** The agent must be stopped, or in a cluster, no replica may hold the routers. */
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
      const { exportStateFile } = await import('../state.ts');
      finish(await exportStateFile(options, io));
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
      const { importStateFiles } = await import('../state.ts');
      finish(await importStateFiles({ ...options, inputs: files }, io));
    });
}

const TOTAL_SHARDS = 'number of processes that share the routers (default: those of web.peers)';

/** They need only NATS, no running replica. */
export function addClusterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const cluster = program.command('cluster').description('Several replicas that share the routers.');
  cluster
    .command('init')
    .description('Create what the replicas need in NATS. Changes nothing that exists.')
    .addOption(configOption())
    .action(async (options) => {
      const { initCluster } = await import('../cluster.ts');
      finish(await initCluster(options, io));
    });
  cluster
    .command('status')
    .description('List the replicas and the routers of each; 0 if all know the same routers and none is missing.')
    .addOption(configOption())
    .option('--json', 'for programs')
    .action(async (options) => {
      const { showCluster } = await import('../cluster.ts');
      finish(await showCluster(options, io));
    });
}
