import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, untilAborted } from '../base/index.ts';
import { type Config, type LoadedConfig, type WatchedFiles, watchRouterFiles } from '../config/index.ts';
import { type ConfigFault, renderFault } from '../settings/index.ts';
import type { ConfigurationSummary, FleetShards, PlanSummary, ReloadResult, TrialResult } from '../web/index.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import { listRestartKeys, type Plan } from './plan.ts';

/** Configuration to start with, and the steps of a reload. */
interface SupervisorOptions {
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

/** Steps of a reload, and receivers of its result. */
interface ConfigReloaderOptions {
  /** Reads the configuration again; absent = no reload. */
  readonly load?: (() => Promise<LoadedConfig>) | undefined;
  /** Prepares a configuration. Throws, with nothing changed, if it cannot run. */
  readonly prepare: (config: Config) => Promise<Plan>;
  /** Prepares a configuration as {@link prepare} does, for a comparison alone. Absent: it cannot be tried. */
  readonly tryOut?: ((config: Config) => Promise<PlanSummary>) | undefined;
  /** Makes a plan the running configuration. Never rejects. */
  readonly commit: (plan: Plan) => Promise<void>;
  /** Called when a configuration runs, with what was loaded with it. Never rejects. */
  readonly onCommitted?: ((loaded: LoadedConfig & { readonly ok: true }) => Promise<void>) | undefined;
  /** Files of routers that are watched for changes, as they were read; absent = none. */
  readonly watched?: WatchedFiles | undefined;
  /** Files of the configuration whose changes wait for a reload, as they were read; absent = none. */
  readonly reread?: WatchedFiles | undefined;
  /** Warnings about the configuration that runs at first. Default: none. */
  readonly warnings?: readonly ConfigFault[] | undefined;
  /** Clock for watching files and for the time of the last reload. */
  readonly clock: Clock;
  /** Log for the outcome of reloads. */
  readonly logger: Logger;
  /** Metrics of the outcome and time of the last reload. */
  readonly metrics: SelfMetrics;
}

/** Faults of a refused configuration that have a line of their own in the log. */
const LOGGED_FAULTS_MAX = 10;

/** Reloads the configuration on request and when a file of routers changes: all of it or nothing. */
export class ConfigReloader {
  readonly #options: ConfigReloaderOptions;
  readonly #mutex = new Mutex();
  readonly #stop = new AbortController();
  #watch = new AbortController();
  #patterns = '';
  #rereadWatch = new AbortController();
  /** The effect of a reload, if a file has changed. */
  #pending: ConfigurationSummary['pending'] = null;
  /** Warnings of the configuration that runs. */
  #warnings: readonly string[] = [];
  /** Wall time since which the configuration runs. Milliseconds. */
  #loadedAtMs = 0;
  #lastReload: ConfigurationSummary['lastReload'] = null;

  constructor(options: ConfigReloaderOptions) {
    this.#options = options;
  }

  /** Takes the first configuration for loaded, and watches its files from now on. */
  start(): void {
    const { warnings, watched, reread } = this.#options;
    this.#noteWarnings(warnings);
    this.#noteSuccess();
    this.#follow(watched);
    this.#followReread(reread);
  }

  /** Describes the configuration that runs, and the last attempt to replace it. */
  describe(): Pick<ConfigurationSummary, 'loadedAt' | 'lastReload' | 'pending' | 'warnings'> {
    return {
      loadedAt: new Date(this.#loadedAtMs).toISOString(),
      lastReload: this.#lastReload,
      pending: this.#pending,
      warnings: this.#warnings,
    };
  }

  /**
   * Reloads the configuration. Never rejects. Concurrent reloads run one after another; one for which `isNeeded` is false when
   * it is its turn is left out, because the one before has done its work.
   */
  reload(isNeeded: () => boolean = () => true): Promise<ReloadResult> {
    return this.#mutex
      .run(() => (isNeeded() ? this.#reload() : Promise.resolve<ReloadResult>({ ok: true })), this.#stop.signal)
      .catch((): ReloadResult => {
        return { ok: false, faults: ['The agent is stopping'] };
      });
  }

  /** Says what a reload would change, and changes nothing. Never rejects. */
  tryOut(): Promise<TrialResult> {
    return this.#mutex
      .run(() => this.#tryOut(), this.#stop.signal)
      .catch((cause: unknown): TrialResult => {
        return { ok: false, faults: [this.#stop.signal.aborted ? 'The agent is stopping' : renderErrorChain(cause)] };
      });
  }

  /** Stops watching, and waits for a configuration that is being put into use; one that is still being read is given up. */
  async close(): Promise<void> {
    this.#watch.abort();
    this.#rereadWatch.abort();
    this.#stop.abort();
    await this.#mutex.run(async () => {});
  }

  async #tryOut(): Promise<TrialResult> {
    const { load, tryOut } = this.#options;
    if (!load || !tryOut) return { ok: false, faults: ['This configuration was not loaded from a file'] };
    const loaded = await untilAborted(load(), this.#stop.signal);
    return loaded.ok
      ? { ok: true, plan: await tryOut(loaded.config) }
      : { ok: false, faults: loaded.faults.map(renderFault) };
  }

  async #reload(): Promise<ReloadResult> {
    const { load, prepare, commit, onCommitted, logger, metrics } = this.#options;
    if (!load) return { ok: false, faults: ['This configuration was not loaded from a file'] };
    let faults: readonly string[];
    try {
      const loaded = await untilAborted(load(), this.#stop.signal);
      if (loaded.ok) {
        await commit(await prepare(loaded.config));
        await onCommitted?.(loaded);
        this.#noteWarnings(loaded.warnings);
        this.#noteSuccess();
        this.#noteReload([]);
        this.#follow(loaded.watched);
        this.#followReread(loaded.reread);
        return { ok: true };
      }
      faults = loaded.faults.map(renderFault);
      // An unreadable main file names no files, so the previous ones stay watched.
      if (loaded.watched.patterns.length > 0) this.#follow(loaded.watched);
    } catch (cause) {
      // The caller has been told.
      this.#stop.signal.throwIfAborted();
      faults = [renderErrorChain(cause)];
    }
    metrics.reloadSuccessful.set(0);
    this.#noteReload(faults);
    for (const fault of faults.slice(0, LOGGED_FAULTS_MAX)) {
      logger.error('The configuration was not loaded again', { fault });
    }
    const more = faults.length - LOGGED_FAULTS_MAX;
    if (more > 0) {
      logger.error('The configuration has more faults; router-exporter check lists them', { faults: more });
    }
    return { ok: false, faults };
  }

  /** Logs the warnings of the configuration that runs, but not again those of the one before. */
  #noteWarnings(warnings: readonly ConfigFault[] = []): void {
    const before = new Set(this.#warnings);
    this.#warnings = [...new Set(warnings.map(renderFault))];
    for (const warning of this.#warnings) {
      if (!before.has(warning)) this.#options.logger.warn('The configuration has a warning', { warning });
    }
  }

  #noteSuccess(): void {
    const { metrics, clock } = this.#options;
    metrics.reloadSuccessful.set(1);
    this.#loadedAtMs = clock.now();
    metrics.reloadSuccessAt.set(this.#loadedAtMs / 1000);
  }

  #noteReload(faults: readonly string[]): void {
    this.#lastReload = { at: new Date(this.#options.clock.now()).toISOString(), faults };
  }

  /** Tries a reload each time a file has changed that does not cause one, so that pages can tell what it would do. */
  #followReread(reread: WatchedFiles | undefined): void {
    this.#rereadWatch.abort();
    this.#rereadWatch = new AbortController();
    this.#pending = null;
    const { signal } = this.#rereadWatch;
    const { clock, tryOut } = this.#options;
    if (this.#stop.signal.aborted || !tryOut || !reread || reread.patterns.length === 0) return;
    this.#pending = 'unchanged';
    void watchRouterFiles({
      ...reread,
      clock,
      signal,
      onChange: async () => {
        const result = await this.tryOut();
        // A reload in the meantime has begun a watch of its own.
        if (!signal.aborted) this.#pending = { at: new Date(clock.now()).toISOString(), result };
      },
    });
  }

  #follow(watched: WatchedFiles | undefined): void {
    const { patterns, digests } = watched ?? { patterns: [], digests: undefined };
    const name = JSON.stringify(patterns);
    if (this.#stop.signal.aborted || name === this.#patterns) return;
    this.#watch.abort();
    this.#watch = new AbortController();
    this.#patterns = name;
    if (patterns.length === 0) return;
    const { clock, logger } = this.#options;
    void watchRouterFiles({
      patterns,
      digests,
      clock,
      signal: this.#watch.signal,
      onChange: async () => {
        logger.info('A watched file of the configuration has changed');
        await this.reload();
      },
    });
  }
}
