import { parseDuration } from '../base/index.ts';
import { LIFECYCLE_STATES } from '../model/index.ts';
import {
  Argument,
  collect,
  configOption,
  InvalidArgumentError,
  type Program,
  parseShard,
  parseWholeNumber,
  SHARDS_MAX,
  storageOption,
  toConfigFlags,
} from './options.ts';
import type { CommandIo, ExitCode } from './terminal/io.ts';

/** Address of an agent on this machine. */
const AGENT_URL = 'http://localhost:9847';

/** States of a router in `fleet`: whether it answers, and what the operator wants of it. */
const STATES: readonly string[] = [...new Set(['up', 'down', 'budget', 'unknown', ...LIFECYCLE_STATES])];

/** Adds the commands that ask a running agent. */
export function addAgentCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('fleet')
    .description('List the routers of a running agent with their states.')
    .option('--url <url>', 'address of the agent', AGENT_URL)
    .option('--state <state>', 'only routers in this state: up, down, maintenance, …; repeatable', collectState, [])
    .option('--token-file <file>', 'file with a bearer token of the agent')
    .option('--username <name>', 'user of the agent; requires --password-file')
    .option('--password-file <file>', 'file with the password of the user')
    .option('--ca-file <file>', 'PEM file with the authorities that the certificate of the agent may be of')
    .option('--json', 'for programs: the entries of /api/v1/routers')
    .action(async (options) => {
      const { fleet } = await import('./fleet.ts');
      finish(await fleet({ ...options, states: options.state, isJson: options.json === true }, io));
    });
}

function collectState(state: string, earlier: readonly string[]): readonly string[] {
  if (!STATES.includes(state)) throw new InvalidArgumentError(`Expected one of ${STATES.join(', ')}.`);
  return collect(state, earlier);
}

/** Maximum of `--limit`. */
const LIST_MAX = 100_000;

/** Adds `dead-letters` and its subcommands. They can be used while the agent runs. */
export function addDeadLetterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const letters = program.command('dead-letters').description('Records that a sink rejected permanently.');
  letters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--limit <count>', 'how many', parseWholeNumber(1, LIST_MAX), 50)
    .option('--json', 'for programs')
    .action(async (options) => {
      const { listLetters } = await import('./dead-letters.ts');
      const flags = {
        ...toConfigFlags(options),
        sink: options.sink,
        limit: options.limit,
        isJson: options.json === true,
      };
      finish(await listLetters(flags, io));
    });
  letters
    .command('show')
    .description('Show one dead letter with its record.')
    .argument('<number>', 'as dead-letters list shows it', parseNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (id, options) => {
      const { showLetter } = await import('./dead-letters.ts');
      finish(await showLetter({ ...toConfigFlags(options), id }, io));
    });
  letters
    .command('replay')
    .description('Have the agent retry dead letters, within 30 s if it is running.')
    .argument('[number...]', 'as dead-letters list shows them', collectNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--all', 'all, or all of --sink')
    .action(async (ids, options) => {
      requireChoice(letters, ids, options);
      const { replayLetters } = await import('./dead-letters.ts');
      finish(await replayLetters({ ...toConfigFlags(options), sink: options.sink, ids: ids ?? [] }, io));
    });
  letters
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
      requireChoice(letters, ids, options);
      const { dropLetters } = await import('./dead-letters.ts');
      const flags = {
        ...toConfigFlags(options),
        sink: options.sink,
        ids: ids ?? [],
        olderThanMs: options.olderThan,
        isAgreed: options.yes === true,
      };
      finish(await dropLetters(flags, io));
    });
}

/** Requires an explicit selection: `drop` alone must not mean all. */
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
