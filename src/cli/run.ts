import { resolve } from 'node:path';
import type { Agent, AgentWebOptions, CycleResult } from '../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { type LoadedConfig, type LoadOptions, readEnvironment, type Shard, watchAlso } from '../config/index.ts';
import { offerLists, SourceKeeper } from '../inventory/index.ts';
import { describeHost, parseListenAddress, SecretKeeper } from '../settings/index.ts';
import { findFolderFault } from '../store/index.ts';
import { loadWebConfig, parseServerPaths, WebError } from '../web/index.ts';
import { readConfig, refuseConfig, warnOfLifecycle } from './configuration.ts';
import { Hangups, type LogFlags, openLogger, type ServeOptions, serve } from './serve.ts';
import { openServiceManager } from './service-manager.ts';
import { type CommandIo, EXIT, type ExitCode, endWithReader, writeResult } from './terminal/io.ts';
import { writeOutputFile } from './terminal/output-file.ts';

/** Options of `run`. */
interface RunFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
  /** Replaces `web.listen`; empty = use `web.listen`. */
  readonly listenAddresses: readonly string[];
  /** Replaces `web.config_file`; relative to the working directory. */
  readonly webConfigFile: string | undefined;
  /** Replaces `storage.path`; relative to the working directory. */
  readonly storagePath: string | undefined;
  /** Options of the web server that only flags can set. */
  readonly web: AgentWebOptions;
  /** The routers of this process. Default: all. */
  readonly shard: Shard;
  /** True to ask every router once and to end. */
  readonly isOnce: boolean;
  /** File for the metrics of `isOnce`; `undefined`: standard output. */
  readonly output: string | undefined;
  /** Level and format of the agent's own log. */
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
  const load = async (options: Pick<LoadOptions, 'checkedState' | 'isBeside'> = {}) =>
    applyFlags(
      await readConfig(flags.configFile, {
        ...options,
        secrets,
        shard: flags.shard,
        inventory,
        storagePath,
      }),
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
    // One cycle asks the routers of the present lists.
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
    const reload = async () => {
      const fresh = await load({ isBeside: true });
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

/** Returns what is wrong with the flags of the web server, which are checked even if it does not start. */
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

async function applyFlags(loaded: LoadedConfig, flags: RunFlags): Promise<LoadedConfig> {
  if (!loaded.ok) return loaded;
  const { config } = loaded;
  const listen = flags.listenAddresses.flatMap((text) => parseListenAddress(text) ?? []);
  const webFile = flags.webConfigFile === undefined ? undefined : resolve(flags.webConfigFile);
  const web = webFile === undefined ? undefined : await loadWebConfig(webFile);
  const watched = web ? await watchAlso(loaded.watched, web.watched) : loaded.watched;
  if (web && !web.ok) return { ...web, watched };
  const replaced = {
    ...loaded,
    watched,
    warnings: [...(loaded.warnings ?? []), ...(web?.warnings ?? [])],
    config: {
      ...config,
      web: {
        ...config.web,
        ...(listen.length > 0 && { listen }),
        ...(web && { security: web.security, config_file: webFile }),
      },
    },
  };
  return warnOfLifecycle(replaced, flags.configFile, flags.web.isLifecycleEnabled === true);
}

/** Readable for all whom the umask permits: it is for collectors of files, which run as other users. */
const FILE_MODE = 0o666;

/**
 * `run --once`: asks every router once, delivers what its logs have that is new, writes the metrics and ends. The exit code is 0
 * if every router that was asked is up, its logs were read, and every sink has taken its records.
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
