import { resolve } from 'node:path';
import { renderErrorChain } from '../base/index.ts';
import { type Config, loadConfig, parseListenAddress, readEnvironment, renderFault } from '../config/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { type LogFlags, openLogger, serve } from './serve.ts';

export interface RunFlags {
  readonly configFile: string;
  /** Replaces `web.listen`; empty: does not. */
  readonly listenAddresses: readonly string[];
  /** Replaces `storage.path`; relative to the working directory. */
  readonly storagePath: string | undefined;
  readonly log: LogFlags;
}

/** `run`: the agent, until SIGTERM or SIGINT. */
export async function run(flags: RunFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await loadConfig(flags.configFile, readEnvironment());
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${renderFault(fault)}\n`);
    return EXIT.usage;
  }
  const config = applyFlags(loaded.config, flags, io);
  if (!config) return EXIT.usage;
  const logger = openLogger(flags.log, config, io);
  if (config.sinks.length === 0) logger.info('No sink is configured, so the logs of the routers are not read');
  try {
    const { exitCode } = await serve({ config, logger, io });
    return exitCode;
  } catch (cause) {
    logger.error('Could not start', { error: renderErrorChain(cause) });
    return EXIT.failed;
  }
}

function applyFlags(config: Config, flags: RunFlags, io: CommandIo): Config | undefined {
  const listen = flags.listenAddresses.map((text) => ({ text, address: parseListenAddress(text) }));
  const wrong = listen.filter(({ address }) => address === undefined);
  for (const { text } of wrong) {
    io.stderr.write(`--web.listen-address: expected host:port, :port or [::1]:port, found ${JSON.stringify(text)}\n`);
  }
  if (wrong.length > 0) return undefined;
  return {
    ...config,
    web: listen.length > 0 ? { listen: listen.flatMap(({ address }) => address ?? []) } : config.web,
    storage: flags.storagePath === undefined ? config.storage : { ...config.storage, path: resolve(flags.storagePath) },
  };
}
