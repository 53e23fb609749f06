import type { Agent, CycleResult } from '../agent/index.ts';
import type { Logger } from '../base/index.ts';
import { renderErrorChain } from '../base/index.ts';
import type { Config } from '../config/index.ts';
import type { SourceKeeper } from '../inventory/index.ts';
import type { SecretKeeper } from '../settings/index.ts';
import { type ServeOptions, serve } from './serve.ts';
import { type CommandIo, EXIT, type ExitCode, endWithReader, writeResult } from './terminal/io.ts';
import { writeOutputFile } from './terminal/output-file.ts';

/** Readable for all whom the umask permits: it is for collectors of files, which run as other users. */
const FILE_MODE = 0o666;

/** One cycle of an agent. */
interface RunOnceOptions {
  /** The configuration, checked. */
  readonly config: Config;
  /** Warnings about it. */
  readonly warnings: NonNullable<ServeOptions['warnings']>;
  /** The secrets of the configuration that can be read again. */
  readonly secrets: SecretKeeper;
  /** The lists of the sources, of which the state keeps the accepted ones for the next cycle. */
  readonly inventory: SourceKeeper;
  /** Results of the sources of the configuration. */
  readonly sources: NonNullable<ServeOptions['sources']>;
  /** File for the metrics; `undefined`: standard output. */
  readonly output: string | undefined;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Standard output and errors. */
  readonly io: CommandIo;
}

/**
 * `run --once`: asks every router once, delivers what its logs have that is new, writes the metrics and ends. The exit code is 0
 * if every router that was asked is up, its logs were read, and every sink has taken its records.
 */
export async function runOnce(options: RunOnceOptions): Promise<ExitCode> {
  const { config, warnings, secrets, inventory, sources, output, logger, io } = options;
  let agent: Agent | undefined;
  let cycle: CycleResult | undefined;
  let metrics = '';
  const { exitCode } = await serve({
    config: { ...config, web: { ...config.web, listen: [] } },
    warnings,
    secrets,
    inventory,
    sources,
    logger,
    io,
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
