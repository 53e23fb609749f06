import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, untilAborted } from '../base/index.ts';
import { type Config, type LoadedConfig, type WatchedFiles, watchFiles } from '../config/index.ts';
import { type ConfigFault, renderFault } from '../settings/index.ts';
import type { ConfigurationSummary, FleetShards, PlanSummary, ReloadResult, TrialResult } from '../web/index.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import { listRestartKeys, type Plan } from './plan.ts';
import type { FleetChange } from './routers/fleet.ts';

interface SupervisorOptions {
  readonly config: Config;
  readonly prepare: (config: Config) => Promise<Plan>;
  /** Called with the running configuration after each successful reload, which waits for it. Never rejects. */
  readonly onConfigured?: ((config: Config) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Time limit of a reload for the last deliveries of removed sinks and the logouts from removed routers. */
const RELOAD_PATIENCE_MS = 5000;

/** Holds the running configuration. The start commits the first plan, each reload the next. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  #config: Config;
  #shards: FleetShards | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#shards = options.config.shards;
  }

  /**
   * The running configuration. State folder, bounds of dead letters, cluster and listen addresses stay those of the
   * start.
   */
  get config(): Config {
    const { storage, dead_letters, cluster, web, origins } = this.#options.config;
    const replaces = listRestartKeys(this.#options.config, this.#config);
    return {
      ...this.#config,
      ...{ storage, dead_letters, cluster },
      web: { ...this.#config.web, listen: web.listen },
      origins: {
        ...this.#config.origins,
        main: [...origins.main.map((one) => ({ ...one, replaces })), ...this.#config.origins.main],
      },
    };
  }

  /**
   * The processes that share the fleet. During a reload it includes the routers of other processes before and after it,
   * so that none is missing.
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

  async commit(plan: Plan): Promise<FleetChange> {
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
    return change;
  }

  #warnAboutRestart(next: Config): void {
    const keys = listRestartKeys(this.config, next);
    if (keys.length > 0) this.#options.logger.warn('A change of these keys needs a restart of the agent', { keys });
  }
}

function joinShards(before: FleetShards | undefined, next: FleetShards | undefined): FleetShards | undefined {
  if (!before || !next) return next ?? before;
  return { ...next, others: new Map([...before.others, ...next.others]) };
}

interface ConfigReloaderOptions {
  /** Reads the configuration again; absent: no reload. */
  readonly load?: (() => Promise<LoadedConfig>) | undefined;
  /** Throws, with nothing changed, if the configuration cannot run. */
  readonly prepare: (config: Config) => Promise<Plan>;
  readonly tryOut?: ((config: Config) => Promise<PlanSummary>) | undefined;
  /** Never rejects. */
  readonly commit: (plan: Plan) => Promise<FleetChange>;
  /** Called after each reload, with what changed or with the faults. */
  readonly onReloaded?: ((change: FleetChange | undefined, faults: readonly string[]) => void) | undefined;
  /** Called when a configuration runs. Never rejects. */
  readonly onCommitted?: ((loaded: LoadedConfig & { readonly ok: true }) => Promise<void>) | undefined;
  /** Router files that cause a reload when they change, as they were read. Default: none. */
  readonly watched?: WatchedFiles | undefined;
  /** Files that cause a trial of a reload when they change, as they were read. Default: none. */
  readonly reread?: WatchedFiles | undefined;
  /** Warnings about the first configuration. Default: none. */
  readonly warnings?: readonly ConfigFault[] | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SelfMetrics;
}

const LOGGED_FAULTS_MAX = 10;

export class ConfigReloader {
  readonly #options: ConfigReloaderOptions;
  readonly #mutex = new Mutex();
  readonly #stop = new AbortController();
  #watch = new AbortController();
  #patterns = '';
  #rereadWatch = new AbortController();
  #pending: ConfigurationSummary['pending'] = null;
  #warnings: readonly string[] = [];
  /** Wall time of the last load. Milliseconds since the Unix epoch. */
  #loadedAtMs = 0;
  #lastReload: ConfigurationSummary['lastReload'] = null;

  constructor(options: ConfigReloaderOptions) {
    this.#options = options;
  }

  /** Records the first configuration as loaded, and starts watching its files. */
  start(): void {
    const { warnings, watched, reread } = this.#options;
    this.#recordWarnings(warnings);
    this.#recordSuccess();
    this.#follow(watched);
    this.#followReread(reread);
  }

  describe(): Pick<ConfigurationSummary, 'loadedAt' | 'lastReload' | 'pending' | 'warnings'> {
    return {
      loadedAt: new Date(this.#loadedAtMs).toISOString(),
      lastReload: this.#lastReload,
      pending: this.#pending,
      warnings: this.#warnings,
    };
  }

  /**
   * Reloads the configuration. Never rejects. Concurrent reloads run one after another; one whose `isNeeded` is false
   * by then is skipped, because the previous one has served it.
   */
  reload(isNeeded: () => boolean = () => true): Promise<ReloadResult> {
    return this.#mutex
      .run(() => (isNeeded() ? this.#reload() : Promise.resolve<ReloadResult>({ ok: true })), this.#stop.signal)
      .catch((): ReloadResult => {
        return { ok: false, faults: ['The agent is stopping'] };
      });
  }

  /** Describes what a reload would change, and changes nothing. Never rejects. */
  tryOut(): Promise<TrialResult> {
    return this.#mutex
      .run(() => this.#tryOut(), this.#stop.signal)
      .catch((cause: unknown): TrialResult => {
        return { ok: false, faults: [this.#stop.signal.aborted ? 'The agent is stopping' : renderErrorChain(cause)] };
      });
  }

  /** Stops watching, aborts a configuration that is being read, and waits for one that is being put into use. */
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
        const change = await commit(await prepare(loaded.config));
        await onCommitted?.(loaded);
        this.#recordWarnings(loaded.warnings);
        this.#recordSuccess();
        this.#recordReload([], change);
        this.#follow(loaded.watched);
        this.#followReread(loaded.reread);
        return { ok: true };
      }
      faults = loaded.faults.map(renderFault);
      // An unreadable main file names no files, so the previous ones stay watched.
      if (loaded.watched.patterns.length > 0) this.#follow(loaded.watched);
    } catch (cause) {
      // At shutdown, the caller reports it.
      this.#stop.signal.throwIfAborted();
      faults = [renderErrorChain(cause)];
    }
    metrics.reloadSuccessful.set(0);
    this.#recordReload(faults);
    for (const fault of faults.slice(0, LOGGED_FAULTS_MAX)) {
      logger.error('The configuration was not loaded again', { fault });
    }
    const more = faults.length - LOGGED_FAULTS_MAX;
    if (more > 0) {
      logger.error('The configuration has more faults; router-exporter check lists them', { faults: more });
    }
    return { ok: false, faults };
  }

  #recordWarnings(warnings: readonly ConfigFault[] = []): void {
    const before = new Set(this.#warnings);
    this.#warnings = [...new Set(warnings.map(renderFault))];
    for (const warning of this.#warnings) {
      if (!before.has(warning)) this.#options.logger.warn('The configuration has a warning', { warning });
    }
  }

  #recordSuccess(): void {
    const { metrics, clock } = this.#options;
    metrics.reloadSuccessful.set(1);
    this.#loadedAtMs = clock.now();
    metrics.reloadSuccessAt.set(this.#loadedAtMs / 1000);
  }

  #recordReload(faults: readonly string[], change?: FleetChange): void {
    this.#options.onReloaded?.(change, faults);
    this.#lastReload = { at: new Date(this.#options.clock.now()).toISOString(), faults };
  }

  /** Tries a reload when a file changes that does not cause one, so that pages can show its effect. */
  #followReread(reread: WatchedFiles | undefined): void {
    this.#rereadWatch.abort();
    this.#rereadWatch = new AbortController();
    this.#pending = null;
    const { signal } = this.#rereadWatch;
    const { clock, tryOut } = this.#options;
    if (this.#stop.signal.aborted || !tryOut || !reread || reread.patterns.length === 0) return;
    this.#pending = 'unchanged';
    void watchFiles({
      ...reread,
      clock,
      signal,
      onChange: async () => {
        const result = await this.tryOut();
        // A reload in the meantime has begun its own watch.
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
    void watchFiles({
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
