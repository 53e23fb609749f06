import { once } from 'node:events';
import { type Agent, type AgentSummary, type AgentWebOptions, startAgent } from '../../agent/index.ts';
import {
  createLogger,
  createSystemClock,
  forEachYielding,
  type Logger,
  type LogLevel,
  readVersion,
  renderErrorChain,
  type Secret,
  systemRandom,
} from '../../base/index.ts';
import { type Config, type LoadedConfig, listRequestSecrets, type WatchedFiles } from '../../config/index.ts';
import type { SourceKeeper, SourceOutcome } from '../../inventory/index.ts';
import type { ConfigFault, SecretKeeper } from '../../settings/index.ts';
import { DeliveryError } from '../../sinks/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { findSecrets } from './read-config.ts';
import type { ServiceManager } from './service-manager.ts';

/** Shorter values in the query of a sink's URL are ordinary words; masking them would damage the log. */
const QUERY_SECRET_LENGTH_MIN = 16;

export interface LogFlags {
  readonly level: LogLevel;
  /** Default: text on a terminal, otherwise JSON. */
  readonly format: 'text' | 'json' | undefined;
}

/** Former values of secrets that are still masked, because requests with them may be in flight. */
const FORMER_MAX = 100;

interface OwnLog {
  readonly logger: Logger;
  /** Masks the secrets of these configurations only, from when it resolves. */
  readonly useSecretsOf: (...configs: readonly Config[]) => Promise<void>;
  readonly onSecretChanged: (before: string) => void;
}

/** Logs to stderr, with the secrets of the running configuration masked. */
export function openLogger(flags: LogFlags, io: CommandIo): OwnLog {
  let secrets: readonly string[] = [];
  let held: ReadonlySet<Secret> = new Set();
  const former: string[] = [];
  const logger = createLogger({
    level: flags.level,
    format: flags.format ?? (io.stderr.isTTY ? 'text' : 'json'),
    output: io.stderr,
    secrets: () => secrets,
  });
  const mask = () => {
    secrets = [...new Set([...[...held].map((secret) => secret.reveal()), ...former])];
  };
  const useSecretsOf = async (...configs: readonly Config[]) => {
    held = await listSecrets(configs);
    mask();
  };
  const onSecretChanged = (before: string) => {
    former.push(before);
    former.splice(0, former.length - FORMER_MAX);
    mask();
  };
  return { logger, useSecretsOf, onSecretChanged };
}

async function listSecrets(configs: readonly Config[]): Promise<ReadonlySet<Secret>> {
  const held = new Set<Secret>();
  for (const { routers, router_sources: routerSources, sinks, web, cluster } of configs) {
    for (const secret of findSecrets([routerSources, web.access, cluster])) held.add(secret);
    for (const sink of sinks) {
      const masked = sink.type === 'http' ? { ...sink, url: sink.url.query.filter(isLong) } : sink;
      for (const secret of findSecrets(masked)) held.add(secret);
    }
    await forEachYielding(routers, (router) => {
      for (const secret of listRequestSecrets(router)) held.add(secret);
    });
  }
  return held;
}

function isLong(piece: string | Secret): boolean {
  return typeof piece !== 'string' && piece.reveal().length >= QUERY_SECRET_LENGTH_MIN;
}

/** Listens from the start: otherwise a SIGHUP while the configuration is read would end the process. */
export class Hangups {
  #isAsked = false;
  #answer: (() => Promise<void>) | undefined;

  constructor({ onHangup }: CommandIo) {
    onHangup(() => {
      this.#isAsked = true;
      void this.#answer?.();
    });
  }

  /** Calls `answer`, which never rejects, at each SIGHUP, and at once if there was one. */
  follow(answer: () => Promise<void>): void {
    this.#answer = answer;
    if (this.#isAsked) void answer();
  }
}

export interface ServeOptions {
  readonly config: Config;
  /** Router files to watch. Default: none. */
  readonly watched?: WatchedFiles;
  /** Files that a reload reads; the agent reports when they differ from what runs. Default: none. */
  readonly reread?: WatchedFiles | undefined;
  readonly warnings?: readonly ConfigFault[];
  /** Loads the configuration at SIGHUP and `POST /-/reload`. Default: no reload. */
  readonly reload?: () => Promise<LoadedConfig>;
  readonly hangups?: Hangups;
  /** Awaited after each successful reload. Never rejects. */
  readonly onConfigured?: (config: Config) => Promise<void>;
  readonly web?: AgentWebOptions;
  readonly secrets?: SecretKeeper;
  readonly inventory?: SourceKeeper;
  readonly sources?: readonly SourceOutcome[];
  readonly logger: Logger;
  readonly io: CommandIo;
  /** Notified about the start, reloads at SIGHUP and the end. Default: none. */
  readonly serviceManager?: ServiceManager;
  readonly onStarted?: (agent: Agent) => void;
  /** A disconnected reader of stdout is a normal end. Default: false; a supervisor must notice it. */
  readonly endsWithReader?: boolean;
  /** Ends the agent when it resolves. Default: only signals end it. */
  readonly until?: (signal: AbortSignal) => Promise<unknown>;
}

/** Runs the agent until it must end or fails, then shuts it down. Throws errors that prevent the start. */
export async function serve(options: ServeOptions): Promise<{ exitCode: ExitCode; summary: AgentSummary }> {
  const { hangups, logger, io, onStarted, serviceManager, until = waitForAbort } = options;
  const agent = await startAgent({
    ...options,
    version: readVersion(),
    clock: createSystemClock(),
    random: systemRandom,
    stdout: io.stdout,
  });
  serviceManager?.ready(agent);
  const end = AbortSignal.any([io.signal, agent.failed, agent.quit]);
  hangups?.follow(async () => {
    serviceManager?.reloading();
    await agent.reload();
    // Also after a fault: the running configuration stays in force.
    if (!end.aborted) serviceManager?.ready(agent);
  });
  onStarted?.(agent);
  await until(end).catch(() => {});
  const summary = agent.summary();
  logger.info('Stopping');
  serviceManager?.stopping();
  const { reason } = agent.failed;
  const isReaderGone = options.endsWithReader === true && reason instanceof DeliveryError && reason.code === 'closed';
  const isFailed = agent.failed.aborted && !isReaderGone;
  if (isFailed) logger.error('The agent cannot continue', { error: renderErrorChain(reason) });
  await agent.stop();
  await serviceManager?.close();
  logger.info('Stopped');
  return {
    exitCode: isFailed ? EXIT.failed : EXIT.done,
    summary: { ...agent.summary(), states: summary.states },
  };
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
