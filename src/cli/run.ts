import { resolve } from 'node:path';
import type { Agent, AgentWebOptions, CycleResult } from '../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../base/index.ts';
import {
  describePortFault,
  type LoadedConfig,
  type LoadOptions,
  placeOnHost,
  readEnvironment,
  type Shard,
  watchAlso,
} from '../config/index.ts';
import { offerLists, SourceKeeper } from '../inventory/index.ts';
import { describeHost, parseListenAddress, SecretKeeper } from '../settings/index.ts';
import { findFolderFault } from '../store/index.ts';
import { describeOpenAccess, loadWebConfig, parseServerPaths, WebError } from '../web/index.ts';
import { type CommandIo, EXIT, type ExitCode, endWithReader, writeResult } from './support/io.ts';
import { writeOutputFile } from './support/output-file.ts';
import { readConfig, refuseConfig, warnOfLifecycle } from './support/read-config.ts';
import { Hangups, type LogFlags, openLogger, type ServeOptions, serve } from './support/serve.ts';
import { openServiceManager } from './support/service-manager.ts';

interface RunFlags {
  readonly configFile: string;
  /** Replaces `web.listen`, unless empty. */
  readonly listenAddresses: readonly string[];
  /** Replaces `web.config_file`; relative to the working directory. */
  readonly webConfigFile: string | undefined;
  /** Replaces `storage.path`; relative to the working directory. */
  readonly storagePath: string | undefined;
  readonly web: AgentWebOptions;
  readonly shard: Shard;
  /** True if all processes run on this machine: each listens on its port plus its index, and finds the others there. */
  readonly hasShardPorts: boolean;
  /** True to ask every router once and to end. */
  readonly isOnce: boolean;
  /** File for the metrics of `isOnce`. Default: stdout. */
  readonly output: string | undefined;
  readonly log: LogFlags;
}

/** `run`: runs the agent until SIGTERM or SIGINT. SIGHUP reloads the configuration. */
export async function run(flags: RunFlags, io: CommandIo): Promise<ExitCode> {
  const faults = listFlagFaults(flags);
  for (const fault of faults) io.stderr.write(`${fault}\n`);
  if (faults.length > 0) return EXIT.usage;
  // A single cycle ends at SIGHUP, as other commands do.
  const hangups = flags.isOnce ? undefined : new Hangups(io);
  const secrets = new SecretKeeper({ env: readEnvironment() });
  const inventory = new SourceKeeper();
  const { storagePath } = flags;
  const load = async (options: Pick<LoadOptions, 'checkedState' | 'whileAgentRuns'> = {}) =>
    applyFlags(
      await readConfig(
        { 'config.file': flags.configFile, 'storage.path': storagePath },
        { ...options, secrets, shard: flags.shard, inventory },
      ),
      flags,
    );
  const folderFault = storagePath === undefined ? undefined : await findFolderFault(resolve(storagePath));
  if (folderFault !== undefined) {
    io.stderr.write(`--storage.path: ${folderFault}\n`);
    return EXIT.usage;
  }
  let loaded = await load(storagePath === undefined ? { checkedState: 'any' } : {});
  if (!loaded.ok) return refuseConfig(loaded, io);
  if (flags.isOnce && loaded.config.router_sources.length > 0) {
    // A single cycle polls the routers of the current lists.
    await offerLists(loaded.config.router_sources, inventory, io.signal, (source, cause) => {
      io.stderr.write(`${source}: the list before stays in use: ${renderErrorChain(cause)}\n`);
    });
    const fresh = await load();
    if (fresh.ok) loaded = fresh;
  }
  const { config } = loaded;
  if (flags.isOnce && flags.output === undefined && config.sinks.some(({ type }) => type === 'stdout')) {
    io.stderr.write(
      'error: metrics and records would both go to standard output; write the metrics to a file: --output FILE\n',
    );
    return EXIT.usage;
  }
  if (flags.isOnce && config.cluster) {
    io.stderr.write('error: --once is not supported in a cluster\n');
    return EXIT.usage;
  }
  const { logger, useSecretsOf, onSecretChanged } = openLogger(flags.log, io);
  await useSecretsOf(config);
  secrets.onEvent((event) => {
    if (event.type === 'secret-changed') onSecretChanged(event.before);
  });
  if (config.sinks.length === 0) logger.info('No sink is configured, so the logs of the routers are not read');
  let running = config;
  try {
    const { warnings = [], sources = [] } = loaded;
    const parts = { config, warnings, sources, secrets, inventory, logger, io };
    if (flags.isOnce) return await runOnce(parts, flags.output);
    const open = flags.web.isLifecycleEnabled ? undefined : describeOpenAccess(config.web, false);
    if (open !== undefined) logger.warn(open);
    const reload = async () => {
      const fresh = await load({ whileAgentRuns: true });
      // The old secrets stay in use until the reload has succeeded, and permanently if it fails.
      if (fresh.ok) await useSecretsOf(running, fresh.config);
      return fresh;
    };
    const { exitCode } = await serve({
      ...parts,
      watched: loaded.watched,
      reread: loaded.reread,
      web: flags.web,
      serviceManager: openServiceManager({
        environment: readEnvironment(),
        pid: process.pid,
        clock: createSystemClock(),
        logger,
      }),
      reload,
      ...(hangups && { hangups }),
      onConfigured: async (next) => {
        running = next;
        await useSecretsOf(next);
      },
    });
    return exitCode;
  } catch (cause) {
    logger.error('Could not start', { error: renderErrorChain(cause) });
    return EXIT.failed;
  }
}

/** They are checked even if the web server does not start. */
function listFlagFaults({ listenAddresses, web }: RunFlags): readonly string[] {
  const wrong = listenAddresses.filter((text) => parseListenAddress(text) === undefined);
  const faults = wrong.map(
    (text) =>
      `--web.listen-address: expected host:port, :port or [::1]:port, found ${describeHost(text) ?? JSON.stringify(text)}`,
  );
  try {
    parseServerPaths(web);
  } catch (cause) {
    if (!(cause instanceof WebError)) throw cause;
    faults.push(renderErrorChain(cause));
  }
  return faults;
}

const SHARD_PORTS = '--web.shard-ports';

async function applyFlags(loaded: LoadedConfig, flags: RunFlags): Promise<LoadedConfig> {
  if (!loaded.ok) return loaded;
  const { config } = loaded;
  const listen = flags.listenAddresses.flatMap((text) => parseListenAddress(text) ?? []);
  const webFile = flags.webConfigFile === undefined ? undefined : resolve(flags.webConfigFile);
  const web = webFile === undefined ? undefined : await loadWebConfig(webFile);
  const watched = web ? await watchAlso(loaded.watched, web.watched) : loaded.watched;
  if (web && !web.ok) return { ...web, watched };
  const lines = {
    ...(listen.length > 0 && { 'web.listen': '--web.listen-address' }),
    ...(flags.hasShardPorts && { 'web.listen': SHARD_PORTS, ...(!config.web.peers && { 'web.peers': SHARD_PORTS }) }),
    ...(web && { 'web.config_file': '--web.config.file' }),
  };
  const given = {
    ...config,
    web: {
      ...config.web,
      ...(listen.length > 0 && { listen }),
      ...(web && { security: web.security, config_file: webFile }),
    },
  };
  const fault = flags.hasShardPorts ? describePortFault(given) : undefined;
  if (fault !== undefined) {
    const place = { file: flags.configFile, line: 1, column: 1, keyPath: 'web.listen' };
    return { ok: false, faults: [{ ...place, message: fault }], watched };
  }
  const replaced = {
    ...loaded,
    watched,
    warnings: [...(loaded.warnings ?? []), ...(web?.warnings ?? [])],
    config: {
      ...(flags.hasShardPorts ? placeOnHost(given, parseServerPaths(flags.web).routePrefix) : given),
      origins: {
        ...config.origins,
        main: config.origins.main.map((one) => ({ ...one, lines: { ...one.lines, ...lines } })),
      },
    },
  };
  return warnOfLifecycle(replaced, flags.configFile, flags.web.isLifecycleEnabled === true);
}

/** As the umask permits: collectors of files run as other users. */
const FILE_MODE = 0o666;

/**
 * `run --once`: polls every router once, delivers new log lines, writes the metrics and ends. Exit code 0 if every
 * polled router is up, its logs were read, and every sink has accepted its records.
 */
async function runOnce(options: ServeOptions, output: string | undefined): Promise<ExitCode> {
  const { config, logger, io } = options;
  let agent: Agent | undefined;
  let cycle: CycleResult | undefined;
  let metrics = '';
  const { exitCode } = await serve({
    ...options,
    config: { ...config, web: { ...config.web, listen: [] } },
    onStarted: (started) => {
      agent = started;
    },
    until: async (signal) => {
      cycle = await agent?.runCycle(signal);
      metrics = (await agent?.renderMetrics()) ?? '';
    },
  });
  if (!cycle) return EXIT.failed;
  const read = endWithReader(io);
  try {
    if (output === undefined) await writeResult(metrics, read.io);
    else await writeOutputFile(output, [Buffer.from(metrics)], FILE_MODE);
  } catch (cause) {
    io.stderr.write(`${output}: the metrics cannot be written: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
  const { asked, up, logsFailed, recordsWaiting } = cycle;
  const isHealthy = up === asked && logsFailed === 0 && recordsWaiting === 0;
  const fields = { routers: config.routers.length, asked, up, logsFailed, recordsWaiting };
  if (isHealthy) logger.info('The cycle is complete', fields);
  else logger.error('The cycle is not complete', fields);
  return isHealthy ? read.judge(exitCode) : EXIT.failed;
}
