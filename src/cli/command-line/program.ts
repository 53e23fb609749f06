import { CommanderError } from 'commander';
import { describeVersion, type LogLevel, parseDuration } from '../../base/index.ts';
import { renderCompletion, SHELLS } from '../completion.ts';
import { type CommandIo, EXIT, type ExitCode, endWithReader, writeResult } from '../support/io.ts';
import {
  addAgentCommands,
  addClusterCommands,
  addDeadLetterCommands,
  addRouterCommands,
  addStateCommands,
} from './commands.ts';
import {
  Argument,
  Command,
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

/** Each router is a listening socket and a log writer in this process. */
const DEMO_ROUTERS_MAX = 10_000;
/** Each router needs a port. */
const SIMULATED_ROUTERS_MAX = 10_000;
/** All connections go to one port of this machine. */
const BENCH_ROUTERS_MAX = 20_000;

/**
 * Parses the arguments after the program's name, runs the command and resolves with its exit code. Wrong usage does not
 * reject.
 */
export async function runCli(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = createProgram(io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (cause) {
    if (!(cause instanceof CommanderError)) throw cause;
    // Commander has already printed the error; help and version are not errors.
    return cause.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
}

/** Commands are imported only when they run, so that `--help` is fast. */
function createProgram(io: CommandIo, finish: (code: ExitCode) => void): Program {
  const read = endWithReader(io);
  const finishRead = (code: ExitCode) => finish(read.judge(code));
  const program = new Command('router-exporter')
    .description('Prometheus metrics and log shipping for fleets of INSYS icom routers.')
    .version(describeVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(`${text}${renderLongerFlag(program, text)}`),
    });

  addRunCommand(program, io, finish);
  addDemoCommand(program, io, finish);
  addConfigurationCommands(program, read.io, finishRead);
  addSimulateCommand(program, io, finish);
  addBenchCommand(program, read.io, finishRead);
  addProcessCommands(program, io, finish);
  addAgentCommands(program, read.io, finishRead);
  addRouterCommands(program, read.io, finishRead);
  addDeadLetterCommands(program, read.io, finishRead);
  addStateCommands(program, read.io, finishRead);
  addClusterCommands(program, read.io, finishRead);
  program
    .command('completion')
    .description('Print the completion of commands and flags for a shell.')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .action(async (shell) => {
      await writeResult(renderCompletion(shell, program, 'run'), read.io);
      finishRead(EXIT.done);
    });
  return program;
}

/** `run` is the default command; its flags also work without its name. */
function addRunCommand(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('run', { isDefault: true })
    .addOption(logLevelOption('info'))
    .addOption(logFormatOption())
    .description('Run the agent (the default command).')
    .allowExcessArguments()
    .addOption(configOption())
    .option(
      '--web.listen-address <address>',
      'address to listen on, as host:port; repeatable; replaces web.listen',
      collect,
      [],
    )
    .option('--web.config.file <path>', 'TLS, users and headers of the server; replaces web.config_file of the file')
    .option(
      '--web.enable-lifecycle',
      'enable POST /-/reload, /-/quit, /-/poll and /-/maintenance, PUT /api/v1/routers/NAME/state, and the buttons of the page of a router',
    )
    .option('--web.route-prefix <path>', 'serve everything below this path (default: the path of --web.external-url)')
    .option('--web.external-url <url>', 'URL under which the server is reachable from outside, for /sd and links')
    .option('--storage.path <folder>', 'folder for positions and spool; replaces storage.path of the file')
    .option(
      '--shard <index>',
      'index of this process among --total-shards, from 0, or a name that ends in it, such as exporter-0',
      parseShard,
      0,
    )
    .option(
      '--total-shards <count>',
      'number of processes that share the routers (default: those of web.peers, or 1)',
      parseWholeNumber(1, SHARDS_MAX),
    )
    .option(
      '--web.shard-ports',
      'all processes run on this machine: each listens on its port plus --shard, and finds the others there',
    )
    .option('--once', 'ask every router once, deliver what its logs have, print the metrics, and end: 0 if all is well')
    .option('--output <file>', 'with --once: write the metrics to this file instead')
    .action(async (options, command) => {
      if (options.output !== undefined && options.once !== true) program.error('error: --output goes with --once');
      // Because `run` is the default, a misspelt command arrives here as its argument.
      const [unknown] = command.args;
      if (unknown !== undefined) program.error(await renderUnknownCommand(program, unknown));
      const shard = { index: options.shard, total: options.totalShards };
      if (shard.total !== undefined && shard.index >= shard.total) {
        program.error(`error: --shard ${shard.index} is not below --total-shards ${shard.total}`);
      }
      const { run } = await import('../run.ts');
      const flags = {
        configFile: options['config.file'],
        listenAddresses: options['web.listenAddress'],
        webConfigFile: options['web.config.file'],
        storagePath: options['storage.path'],
        web: {
          isLifecycleEnabled: options['web.enableLifecycle'] === true,
          routePrefix: options['web.routePrefix'],
          externalUrl: options['web.externalUrl'],
        },
        shard,
        hasShardPorts: options['web.shardPorts'] === true,
        isOnce: options.once === true,
        output: options.output,
        log: { level: options['log.level'], format: options['log.format'] },
      };
      finish(await run(flags, io));
    });
}

function addDemoCommand(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('demo')
    .addOption(logLevelOption('warn'))
    .addOption(logFormatOption())
    .description('Run a simulated fleet and the agent against it, without any configuration.')
    .option(
      '--routers <count>',
      `number of simulated routers, up to ${DEMO_ROUTERS_MAX}`,
      parseWholeNumber(1, DEMO_ROUTERS_MAX),
      8,
    )
    .option(
      '--faults',
      'a refused login, a slow router, a router that loses lines, and after a minute an outage (default: from four routers on)',
    )
    .option('--no-faults', 'only healthy routers')
    .option('--for <duration>', 'stop after this time, such as 30s', parseDurationFlag)
    .option('--records', 'on a terminal: the log records instead of the live status')
    .option('--web.listen-address <address>', 'address to listen on (default: 127.0.0.1:9847, or a free port)')
    .action(async (options) => {
      const { demo } = await import('../demo/demo.ts');
      const flags = {
        routers: options.routers,
        hasFaults: options.faults,
        forMs: options.for,
        hasRecords: options.records === true,
        listenAddress: options['web.listenAddress'],
        log: { level: options['log.level'], format: options['log.format'] },
      };
      finish(await demo(flags, io));
    });
}

function addConfigurationCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('check')
    .description('Check the configuration file and every file that it refers to.')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--web.enable-lifecycle', 'the agent is started with this flag: warn if that is open to all')
    .option('--sinks', 'also test each sink: reachable, authorised, accepts a test record')
    .option('--show <router>', 'print the settings of this router instead, with the file and line of each')
    .option('--diff <url>', 'then ask the agent at this address what its reload would change, which changes nothing')
    .option('--token-file <file>', 'file with a bearer token of that agent')
    .option('--username <name>', 'user of that agent; requires --password-file')
    .option('--password-file <file>', 'file with the password of the user')
    .option('--ca-file <file>', 'PEM file with the certificate authorities to trust for that agent')
    .option('--json', 'for programs')
    .action(async (options) => {
      const { check } = await import('../check.ts');
      finish(await check(options, io));
    });

  program
    .command('import')
    .description('Print the routers of a CSV file as YAML for router_files.')
    .requiredOption(
      '--csv <file>',
      'file whose first line names the columns: name, url or address, groups, label:NAME and others',
    )
    .action(async (options) => {
      const { importRouters } = await import('../import.ts');
      finish(await importRouters(options.csv, io));
    });

  program
    .command('schema')
    .description('Print the JSON Schema of the configuration file, for editors, or the index template of a sink.')
    .addOption(configOption())
    .option('--index-template <sink>', 'the index template of this sink of type elasticsearch instead')
    .action(async (options) => {
      const { schema } = await import('../schema.ts');
      finish(await schema(options, io));
    });
}

function addSimulateCommand(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('simulate')
    .description('Run only simulated routers, for testing other programs.')
    .option('--routers <count>', 'number of simulated routers', parseWholeNumber(1, SIMULATED_ROUTERS_MAX), 3)
    .addOption(
      new Option(
        '--from <file>',
        'a router that answers like the device of this bundle; repeatable, one router for each',
      )
        .argParser(collect)
        .default([])
        .conflicts('routers'),
    )
    .option('--listen <address>', 'address of the first router, the others follow (default: 127.0.0.1:9443)')
    .option(
      '--seed <number>',
      'seed of the simulation; equal seeds give equal routers',
      parseWholeNumber(0, Number.MAX_SAFE_INTEGER),
      1,
    )
    .option(
      '--control [address]',
      'open a loopback port to control the simulation; closed by default (without an address: 127.0.0.1:9442)',
    )
    .option('--fault <name>', 'start with this fault, as NAME or ROUTER=NAME; repeatable', collect, [])
    .option('--clock-offset <duration>', 'clocks are ahead by this, as in 1h, or behind, as in -1h', parseOffsetFlag, 0)
    .option('--plain-http', 'serve HTTP without TLS')
    .option('--ca-out <file>', 'write the CA certificate that clients must trust to this file')
    .action(async (options) => {
      const { simulate } = await import('../simulate.ts');
      finish(await simulate(options, io));
    });
}

function addBenchCommand(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('bench')
    .description('Measure how many routers this machine carries, with simulated ones in a process of their own.')
    .option('--from <count>', 'first number of routers to try', parseWholeNumber(1, BENCH_ROUTERS_MAX), 50)
    .option('--routers <count>', 'largest number of routers to try', parseWholeNumber(1, BENCH_ROUTERS_MAX), 1000)
    .option(
      '--interval <duration>',
      'interval of polls and of readings of logs (default: 60s)',
      parseDurationFlag,
      60_000,
    )
    .option(
      '--latency <duration>',
      'time from a request to its answer, as in 400ms (default: none)',
      parseLatencyFlag,
      0,
    )
    .option(
      '--for <duration>',
      'time of each measurement, after two intervals (default: 60s)',
      parseDurationFlag,
      60_000,
    )
    .option('--no-logs', 'poll only')
    .option('--markdown', 'print a table in Markdown')
    .action(async (options) => {
      const { bench } = await import('../bench/bench.ts');
      finish(await bench(options, io));
    });
}

/** Hidden commands, which other commands start as child processes. */
function addProcessCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program.command('bench-routers', { hidden: true }).action(async () => {
    const { runBenchRouters } = await import('../bench/routers-process.ts');
    finish(await runBenchRouters(io));
  });
  program.command('demo-routers', { hidden: true }).action(async () => {
    const { runDemoRouters } = await import('../demo/demo-routers.ts');
    finish(await runDemoRouters(io));
  });
}

/** Suggests the flag that the unknown one abbreviates, such as --config.file for --config. */
function renderLongerFlag(program: Program, error: string): string {
  const [, flag] = /unknown option '(--[\w.-]+)'\n$/.exec(error) ?? [];
  const flags = program.commands.flatMap(({ options }) => options.map(({ long }) => long));
  const longer = flag && flags.find((candidate) => candidate?.startsWith(`${flag}.`));
  return longer ? `(Did you mean ${longer}?)\n` : '';
}

async function renderUnknownCommand(program: Program, name: string): Promise<string> {
  const { findNearest } = await import('../../settings/index.ts');
  const nearest = findNearest(
    name,
    program.commands.map((command) => command.name()),
  );
  const suggestion = nearest ? ` (did you mean ${nearest}?)` : '';
  return `error: unknown command ${JSON.stringify(name)}${suggestion}; see router-exporter --help`;
}

function logLevelOption(level: LogLevel) {
  return new Option('--log.level <level>', "minimum severity of the agent's own log")
    .choices(['debug', 'info', 'warn', 'error'])
    .default(level);
}

function logFormatOption() {
  return new Option(
    '--log.format <format>',
    "format of the agent's own log (default: text on a terminal, json elsewhere)",
  ).choices(['text', 'json']);
}

function parseDurationFlag(text: string): number {
  const durationMs = parseDuration(text);
  if (!durationMs) throw new InvalidArgumentError('Expected a duration such as 30s, 5m or 1h30m.');
  return durationMs;
}

function parseLatencyFlag(text: string): number {
  if (parseDuration(text) === 0) throw new InvalidArgumentError('Leave the flag out for no latency.');
  return parseDurationFlag(text);
}

function parseOffsetFlag(text: string): number {
  return text.startsWith('-') ? -parseDurationFlag(text.slice(1)) : parseDurationFlag(text);
}
