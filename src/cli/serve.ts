import { once } from 'node:events';
import { type Agent, type AgentSummary, type AgentWebOptions, startAgent } from '../agent/index.ts';
import {
  createLogger,
  createSystemClock,
  type Logger,
  type LogLevel,
  readVersion,
  renderErrorChain,
  type Secret,
  Steps,
  systemRandom,
} from '../base/index.ts';
import { type Config, type LoadedConfig, listRequestSecrets, type WatchedFiles } from '../config/index.ts';
import { DeliveryError } from '../delivery/index.ts';
import type { SourceKeeper, SourceOutcome } from '../inventory/index.ts';
import type { ConfigFault, SecretKeeper } from '../settings/index.ts';
import { findSecrets } from './configuration.ts';
import type { ServiceManager } from './service-manager.ts';
import { type CommandIo, EXIT, type ExitCode } from './terminal/io.ts';

/** Shorter values in the query of a sink's URL are ordinary words; masking them would damage the log. Characters. */
const QUERY_SECRET_LENGTH_MIN = 16;

/** Options of the agent's own log. */
export interface LogFlags {
  /** Minimum severity. */
  readonly level: LogLevel;
  /** `undefined` = text on a terminal, JSON elsewhere. */
  readonly format: 'text' | 'json' | undefined;
}

/** Number of former values of secrets that are masked: they may be on their way still. */
const FORMER_MAX = 100;

/** The agent's own log, and what is masked in it. */
interface OwnLog {
  readonly logger: Logger;
  /** Masks the secrets of these configurations, and of no others, from when it resolves. */
  readonly useSecretsOf: (...configs: readonly Config[]) => Promise<void>;
  /** A secret has changed; the former value stays masked. */
  readonly onSecretChanged: (before: string) => void;
}

/** Opens the agent's own log on stderr. Secrets of the running configuration are masked in it. */
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

/** Lists the secrets of configurations, each once: routers share those of `defaults`. */
async function listSecrets(configs: readonly Config[]): Promise<ReadonlySet<Secret>> {
  const held = new Set<Secret>();
  const steps = new Steps();
  for (const { routers, router_sources: routerSources, sinks, web, cluster } of configs) {
    for (const secret of findSecrets([routerSources, web.access, cluster])) held.add(secret);
    for (const sink of sinks) {
      const masked = sink.type === 'http' ? { ...sink, url: sink.url.query.filter(isLong) } : sink;
      for (const secret of findSecrets(masked)) held.add(secret);
    }
    for (const router of routers) {
      for (const secret of listRequestSecrets(router)) held.add(secret);
      if (steps.isDue) await steps.next();
    }
  }
  return held;
}

function isLong(piece: string | Secret): boolean {
  return typeof piece !== 'string' && piece.reveal().length >= QUERY_SECRET_LENGTH_MIN;
}

/** SIGHUPs, from the beginning on: without a listener, one that comes while the configuration is read would end the process. */
export class Hangups {
  #isAsked = false;
  #answer: (() => Promise<void>) | undefined;

  constructor({ onHangup }: CommandIo) {
    onHangup(() => {
      this.#isAsked = true;
      void this.#answer?.();
    });
  }

  /** Calls `answer`, which never rejects, at each SIGHUP from now on, and at once if there was one. */
  follow(answer: () => Promise<void>): void {
    this.#answer = answer;
    if (this.#isAsked) void answer();
  }
}

/** Configuration, output and signals of a running agent. */
export interface ServeOptions {
  /** The checked configuration. */
  readonly config: Config;
  /** Files of routers to watch for changes; absent = none. */
  readonly watched?: WatchedFiles;
  /** Files whose changes wait for a reload, and are compared with what runs; absent = none. */
  readonly reread?: WatchedFiles | undefined;
  /** Warnings about the configuration; absent = none. */
  readonly warnings?: readonly ConfigFault[];
  /** Loads the configuration again, at SIGHUP and on `POST /-/reload`; absent = no reload. */
  readonly reload?: () => Promise<LoadedConfig>;
  /** The SIGHUPs that ask for a reload; absent = none does. */
  readonly hangups?: Hangups;
  /** Called with the running configuration after each successful reload, which waits for it. Never rejects. */
  readonly onConfigured?: (config: Config) => Promise<void>;
  /** Options of the web server that the configuration does not have. */
  readonly web?: AgentWebOptions;
  /** The secrets of the configuration that can be read again; absent = none. */
  readonly secrets?: SecretKeeper;
  /** Answers of the sources of routers; absent = none. */
  readonly inventory?: SourceKeeper;
  /** Outcome of each source in this configuration; absent = none. */
  readonly sources?: readonly SourceOutcome[];
  /** The agent's own log. */
  readonly logger: Logger;
  /** Streams and signals of the process. */
  readonly io: CommandIo;
  /** Told about the start, reloads at SIGHUP and the end; absent = nobody. */
  readonly serviceManager?: ServiceManager;
  /** Called once, when the agent has started. */
  readonly onStarted?: (agent: Agent) => void;
  /** True when a disconnected reader of stdout is a normal end. Default false: a supervisor must notice it. */
  readonly endsWithReader?: boolean;
  /** The agent ends when this resolves, if no signal comes first; absent = only signals end it. */
  readonly until?: (signal: AbortSignal) => Promise<unknown>;
}

/** Runs the agent until it must end or fails, then shuts it down gracefully. Throws errors that prevent the start. */
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
    summary: { ...agent.summary(), routersUp: summary.routersUp },
  };
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
