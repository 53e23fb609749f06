import { once } from 'node:events';
import { type Agent, type AgentSummary, type AgentWebOptions, startAgent } from '../agent/index.ts';
import {
  createLogger,
  createSystemClock,
  type Logger,
  type LogLevel,
  renderErrorChain,
  type Secret,
  systemRandom,
} from '../base/index.ts';
import type { Config, LoadedConfig, WatchedFiles } from '../config/index.ts';
import { DeliveryError } from '../delivery/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { findSecrets } from './secrets.ts';
import { readVersion } from './version.ts';

/** Shorter values in the query of a sink's url are words, which would be missing all over the log. Characters. */
const QUERY_SECRET_LENGTH_MIN = 16;

export interface LogFlags {
  readonly level: LogLevel;
  /** `undefined`: text on a terminal, JSON elsewhere. */
  readonly format: 'text' | 'json' | undefined;
}

/** The agent's own log on stderr; no secret of the configuration in use can appear in it. */
export function openLogger(
  flags: LogFlags,
  io: CommandIo,
): { readonly logger: Logger; readonly useSecretsOf: (...configs: readonly Config[]) => void } {
  let secrets: readonly string[] = [];
  const logger = createLogger({
    level: flags.level,
    format: flags.format ?? (io.stderr.isTTY ? 'text' : 'json'),
    output: io.stderr,
    secrets: () => secrets,
  });
  const useSecretsOf = (...configs: readonly Config[]) => {
    const held = configs.flatMap(({ routers, sinks }) => [
      ...routers.map(({ password }) => password),
      ...sinks.flatMap((sink) => findSecrets('query' in sink ? { ...sink, query: sink.query.filter(isLong) } : sink)),
    ]);
    secrets = [...new Set(held.map((secret) => secret.reveal()))];
  };
  return { logger, useSecretsOf };
}

function isLong(piece: string | Secret): boolean {
  return typeof piece !== 'string' && piece.reveal().length >= QUERY_SECRET_LENGTH_MIN;
}

export interface ServeOptions {
  /** The configuration to start with. */
  readonly config: Config;
  /** Files of routers that are watched for changes. */
  readonly watched?: WatchedFiles;
  /** Reads the configuration again, at SIGHUP and when asked over HTTP. */
  readonly reload?: () => Promise<LoadedConfig>;
  /** Told which configuration runs, after each reload that succeeded. */
  readonly onConfigured?: (config: Config) => void;
  /** Settings of the HTTP server that come from the command line. Default: none. */
  readonly web?: AgentWebOptions;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Streams and signals of the command. */
  readonly io: CommandIo;
  /** Called once, when the agent runs. */
  readonly onStarted?: (agent: Agent) => void;
  /** Whether a reader of the records that goes away is an ordinary end. Default false: a supervisor has to know. */
  readonly endsWithReader?: boolean;
  /** The agent ends when this resolves, if no signal comes first. */
  readonly until?: (signal: AbortSignal) => Promise<unknown>;
}

/** Runs the agent until it is asked to end or cannot go on, then stops it in order. Throws what prevents the start. */
export async function serve(options: ServeOptions): Promise<{ exitCode: ExitCode; summary: AgentSummary }> {
  const { config, watched, reload, onConfigured, web, logger, io, onStarted, until = waitForAbort } = options;
  // From the beginning, because nobody listening would end the process.
  const hangups = { isAsked: false, reload: () => {} };
  if (reload) {
    io.onHangup(() => {
      hangups.isAsked = true;
      hangups.reload();
    });
  }
  const agent = await startAgent({
    config,
    watched,
    reload,
    onConfigured,
    web,
    logger,
    version: readVersion(),
    clock: createSystemClock(),
    random: systemRandom,
    stdout: io.stdout,
    signal: io.signal,
  });
  hangups.reload = () => void agent.reload();
  if (hangups.isAsked) hangups.reload();
  onStarted?.(agent);
  const end = AbortSignal.any([io.signal, agent.failed, agent.quit]);
  await until(end).catch(() => {});
  const summary = agent.summary();
  logger.info('Stopping');
  const { reason } = agent.failed;
  const isReaderGone = options.endsWithReader === true && reason instanceof DeliveryError && reason.code === 'closed';
  const isFailed = agent.failed.aborted && !isReaderGone;
  if (isFailed) logger.error('The agent cannot go on', { error: renderErrorChain(reason) });
  await agent.stop();
  logger.info('Stopped');
  return {
    exitCode: isFailed ? EXIT.failed : EXIT.done,
    summary: { ...agent.summary(), routersUp: summary.routersUp },
  };
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
