import { type Clock, type Logger, openDeadline } from '../base/index.ts';
import type { Config } from '../config/index.ts';
import type { FleetShards } from '../web/index.ts';
import type { Plan } from './plan.ts';
import { listRestartKeys } from './restart-keys.ts';

/** Configuration to start with, and the steps of a reload. */
export interface SupervisorOptions {
  /** Configuration to start with. */
  readonly config: Config;
  /** Does everything about a configuration that can fail, and changes nothing. */
  readonly prepare: (config: Config) => Promise<Plan>;
  /** Called with the running configuration after each successful reload, which waits for it. Never rejects. */
  readonly onConfigured?: ((config: Config) => Promise<void>) | undefined;
  /** Clock for the time limit of a reload. */
  readonly clock: Clock;
  /** The agent's own log. */
  readonly logger: Logger;
}

/** Time limit of a reload for the last deliveries of removed sinks and the logouts of removed routers. */
const RELOAD_PATIENCE_MS = 5000;

/** Holds the running configuration. The start commits the first plan, and each reload the next. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #config: Config;
  #shards: FleetShards | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#shards = options.config.shards;
  }

  /** The running configuration. A reload changes neither the state folder, nor the bounds of dead letters, nor the cluster, nor the listen addresses. */
  get config(): Config {
    const { storage, dead_letters, cluster, web } = this.#options.config;
    return { ...this.#config, storage, dead_letters, cluster, web: { ...this.#config.web, listen: web.listen } };
  }

  /**
   * The processes that share the fleet. During a reload, it has the routers of other processes before and after it, so that
   * none that comes or goes is missing; those that this process already has are in the fleet as well.
   */
  get shards(): FleetShards | undefined {
    return this.#shards;
  }

  /** Commits the first plan. Throws if it cannot; `signal` bounds the commit. */
  async start(signal: AbortSignal): Promise<void> {
    const { config, prepare } = this.#options;
    const plan = await prepare(config);
    await plan.commit(signal);
  }

  /** Makes a plan the running configuration. Never rejects. */
  async commit(plan: Plan): Promise<void> {
    const { clock, logger, onConfigured } = this.#options;
    using deadline = openDeadline(clock, RELOAD_PATIENCE_MS);
    this.#warnAboutRestart(plan.config);
    const before = this.#shards;
    this.#config = plan.config;
    this.#shards = joinShards(before, plan.config.shards);
    const change = await plan.commit(deadline.signal);
    this.#shards = plan.config.shards;
    await onConfigured?.(plan.config);
    logger.info('Loaded the configuration again', { ...change, routers: plan.config.routers.length });
  }

  /** Logs changes that a reload cannot apply. */
  #warnAboutRestart(next: Config): void {
    const keys = listRestartKeys(this.config, next);
    if (keys.length > 0) this.#options.logger.warn('A change of these keys needs a restart of the agent', { keys });
  }
}

function joinShards(before: FleetShards | undefined, next: FleetShards | undefined): FleetShards | undefined {
  if (!before || !next) return next ?? before;
  return { ...next, others: new Map([...before.others, ...next.others]) };
}
