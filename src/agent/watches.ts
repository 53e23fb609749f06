import { type Clock, type Logger, renderErrorChain, untilAborted } from '../base/index.ts';
import {
  type ListedRouters,
  SourceKeeper,
  type SourceOutcome,
  SourceReader,
  type SourceSettings,
} from '../inventory/index.ts';
import { renderSettingsHash, type SecretEvent, type SecretKeeper } from '../settings/index.ts';
import type { SourceSummary } from '../web/index.ts';
import { toTime } from './router-state/router-state.ts';

interface InventoryWatchOptions {
  readonly inventory?: SourceKeeper | undefined;
  /** Loads the configuration again with the new answers, unless `isNeeded` is false by then. */
  readonly reload: (isNeeded: () => boolean) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Watched {
  readonly settings: SourceSettings;
  readonly hash: string;
  readonly stop: AbortController;
  running: Promise<void>;
  isUp: boolean | undefined;
  readAtMs: number | undefined;
  failure: string | undefined;
}

/** Reads the sources of routers, each at its interval, and reloads the configuration when an answer changes. */
export class InventoryWatch {
  readonly #options: InventoryWatchOptions;
  readonly #keeper: SourceKeeper;
  readonly #watched = new Map<string, Watched>();
  readonly #outcomes = new Map<string, SourceOutcome>();
  readonly #logged = new Map<string, string>();
  readonly #unstored = new Map<string, string>();

  constructor(options: InventoryWatchOptions) {
    this.#options = options;
    this.#keeper = options.inventory ?? new SourceKeeper();
  }

  /** Follows the sources of the running configuration; `outcomes` are its uses of their answers. Never rejects. */
  async apply(sources: readonly SourceSettings[], outcomes: readonly SourceOutcome[]): Promise<void> {
    for (const failure of await this.#keeper.settle(outcomes)) this.#logUnstored(failure);
    this.#outcomes.clear();
    for (const outcome of outcomes) {
      this.#outcomes.set(outcome.source, outcome);
      this.#log(outcome);
    }
    const wanted = new Map(
      sources.map((settings) => [settings.name, { settings, hash: renderSettingsHash(settings) }]),
    );
    for (const [name, { hash, stop }] of this.#watched) {
      if (wanted.get(name)?.hash === hash) continue;
      stop.abort();
      this.#watched.delete(name);
    }
    for (const [name, { settings, hash }] of wanted) if (!this.#watched.has(name)) this.#start(settings, hash);
  }

  /**
   * Confirms that a source may remove the routers that its newest answer lacks. Returns false if no answer is held
   * back.
   */
  confirm(source: string): boolean {
    const held = this.#outcomes.get(source)?.held;
    return held !== undefined && this.#keeper.confirm(source, held.text);
  }

  describe(): readonly SourceSummary[] {
    return [...this.#watched.values()].map(({ settings: { name }, isUp, readAtMs, failure }) => {
      const outcome = this.#outcomes.get(name);
      const held = outcome?.held;
      return {
        name,
        state: isUp === undefined ? 'unknown' : isUp && outcome?.faulty === undefined ? 'up' : 'down',
        lastSuccess: toTime(readAtMs),
        error: failure ?? outcome?.faulty ?? null,
        routers: outcome?.routers.size ?? 0,
        refused: outcome?.refused ?? 0,
        refusals: outcome?.refusals ?? [],
        held: held ? { missing: held.missing, of: held.of } : null,
      };
    });
  }

  async close(): Promise<void> {
    const all = [...this.#watched.values()];
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ running }) => running));
  }

  #start(settings: SourceSettings, hash: string): void {
    const stop = new AbortController();
    const watched: Watched = {
      settings,
      hash,
      stop,
      running: Promise.resolve(),
      isUp: undefined,
      readAtMs: undefined,
      failure: undefined,
    };
    this.#watched.set(settings.name, watched);
    watched.running = this.#follow(watched, stop.signal);
  }

  async #follow(watched: Watched, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await using reader = new SourceReader(watched.settings, clock);
    while (!signal.aborted) {
      await this.#readOnce(reader, watched, signal).catch(() => {});
      await this.#apply(watched.settings.name, signal).catch(() => {});
      await clock.sleep(watched.settings.interval, signal).catch(() => {});
    }
  }

  async #readOnce(reader: SourceReader, watched: Watched, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const { name } = watched.settings;
    let list: ListedRouters | undefined;
    try {
      // The thread that parses a list ends by itself.
      list = await untilAborted(reader.read(signal), signal);
    } catch (cause) {
      if (signal.aborted) return;
      const error = renderErrorChain(cause);
      watched.isUp = false;
      // Once for each reason.
      if (error !== watched.failure)
        logger.warn('A source of routers could not be read; its routers stay', { source: name, error });
      watched.failure = error;
      return;
    }
    if (watched.failure !== undefined) logger.info('A source of routers can be read again', { source: name });
    watched.failure = undefined;
    watched.isUp = true;
    watched.readAtMs = clock.now();
    if (list) this.#keeper.offer(name, list);
  }

  /** Retried after each reading until it has succeeded. */
  async #apply(name: string, signal: AbortSignal): Promise<void> {
    const isNeeded = () => this.#keeper.isPending(name);
    if (isNeeded()) await untilAborted(this.#options.reload(isNeeded), signal);
    const failure = await this.#keeper.store(name);
    if (failure) this.#logUnstored(failure);
  }

  #logUnstored({ source, cause }: { readonly source: string; readonly cause: unknown }): void {
    const error = renderErrorChain(cause);
    if (this.#unstored.get(source) === error) return;
    this.#unstored.set(source, error);
    this.#options.logger.warn(
      'The list of a source could not be stored; after a restart its routers are missing until it answers',
      { source, error },
    );
  }

  #log({ source, refused, refusals, held, faulty, unreadable }: SourceOutcome): void {
    const { logger } = this.#options;
    const state = JSON.stringify([refused, refusals, held?.missing, held?.of, faulty, unreadable]);
    if (state === this.#logged.get(source)) return;
    this.#logged.set(source, state);
    if (unreadable !== undefined)
      logger.warn('The stored list of a source cannot be read; its routers are missing until it answers', {
        source,
        error: unreadable,
      });
    if (refused > 0) logger.warn('Routers of a source are not used', { source, routers: refused, reasons: refusals });
    if (faulty !== undefined)
      logger.error('The answer of a source cannot be used; the previous one stays in use', { source, error: faulty });
    if (!held) return;
    const { missing, of } = held;
    logger.error('A source lacks many of its routers; the previous list stays in use until the removal is confirmed', {
      source,
      missing,
      of,
    });
  }
}

interface SecretWatchOptions {
  readonly secrets: SecretKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval of checks of secret files, the same as for router files. Milliseconds. */
const LOOK_INTERVAL_MS = 5000;

/** Reads secrets again when their files change; the next request uses them. */
export class SecretWatch {
  readonly #options: SecretWatchOptions;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(options: SecretWatchOptions) {
    this.#options = options;
    options.secrets.onEvent((event) => this.#log(event));
    this.#watching = this.#watch();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { secrets, clock } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(LOOK_INTERVAL_MS, signal).catch(() => {});
      if (!signal.aborted) await secrets.refresh();
    }
  }

  #log(event: SecretEvent): void {
    const { logger } = this.#options;
    const { name } = event;
    if (event.type === 'secret-changed') logger.info('A secret has changed and is used from now on', { from: name });
    else
      logger.warn('A secret could not be read again; the previous one stays in use', {
        from: name,
        error: event.reason,
      });
  }
}
