import { type Clock, type Logger, renderErrorChain, untilAborted } from '../base/index.ts';
import {
  type ListedRouters,
  SourceKeeper,
  type SourceOutcome,
  SourceReader,
  type SourceSettings,
} from '../inventory/index.ts';
import type { SecretEvent, SecretKeeper } from '../settings/index.ts';
import type { SourceSummary } from '../web/index.ts';
import { renderSettingsHash } from './settings-hash.ts';
import { toTime } from './times.ts';

/** Answers of the sources, and what follows from a new one. */
interface InventoryWatchOptions {
  /** Answers of the sources. Default: a new one. */
  readonly inventory?: SourceKeeper | undefined;
  /** Loads the configuration again, with the new answers, if that is still needed when it is its turn. */
  readonly reload: (isNeeded: () => boolean) => Promise<unknown>;
  /** Clock for the waits between two readings. */
  readonly clock: Clock;
  /** Log for sources that cannot be read, and for routers that are not used. */
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

/** Reads the sources of routers, each at its interval, and loads the configuration again when one has another answer. */
export class InventoryWatch {
  readonly #options: InventoryWatchOptions;
  readonly #keeper: SourceKeeper;
  readonly #watched = new Map<string, Watched>();
  readonly #outcomes = new Map<string, SourceOutcome>();
  /** The last line logged about each source. */
  readonly #logged = new Map<string, string>();
  /** Why the list of a source was last not stored. */
  readonly #unstored = new Map<string, string>();

  constructor(options: InventoryWatchOptions) {
    this.#options = options;
    this.#keeper = options.inventory ?? new SourceKeeper();
  }

  /** Follows the sources of a configuration that runs. `outcomes` say what it made of their answers. Never rejects. */
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

  /** Confirms that a source may remove the routers that its newest answer lacks. Returns false if none waits for that. */
  confirm(source: string): boolean {
    const held = this.#outcomes.get(source)?.held;
    return held !== undefined && this.#keeper.confirm(source, held.text);
  }

  /** Describes all sources. */
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

  /** Ends all readings. */
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
      // The thread that is at a list ends by itself, and nobody waits for it.
      list = await untilAborted(reader.read(signal), signal);
    } catch (cause) {
      if (signal.aborted) return;
      const error = renderErrorChain(cause);
      watched.isUp = false;
      // Once for each reason, not for each reading.
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

  /** Does what is not done yet, because an answer is new or because it failed before. */
  async #apply(name: string, signal: AbortSignal): Promise<void> {
    const isNeeded = () => this.#keeper.isPending(name);
    if (isNeeded()) await untilAborted(this.#options.reload(isNeeded), signal);
    const failure = await this.#keeper.store(name);
    if (failure) this.#logUnstored(failure);
  }

  #logUnstored({ source, cause }: { readonly source: string; readonly cause: unknown }): void {
    const error = renderErrorChain(cause);
    // Once for each reason, not for each attempt.
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
      logger.error('The answer of a source cannot be used; the one before stays in use', { source, error: faulty });
    if (!held) return;
    const { missing, of } = held;
    logger.error('A source lacks many of its routers; the list before stays in use until this is confirmed', {
      source,
      missing,
      of,
    });
  }
}

/** Secrets to keep up to date. */
interface SecretWatchOptions {
  /** The secrets, which tell what becomes of them. */
  readonly secrets: SecretKeeper;
  /** Clock for the waits between two looks. */
  readonly clock: Clock;
  /** Log for secrets that have changed, or cannot be read. */
  readonly logger: Logger;
}

/** Wait between two looks at the files of secrets, as for files of routers. Milliseconds. */
const LOOK_INTERVAL_MS = 5000;

/** Reads secrets again whose files have changed; the next request uses them. */
export class SecretWatch {
  readonly #options: SecretWatchOptions;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(options: SecretWatchOptions) {
    this.#options = options;
    options.secrets.onEvent((event) => this.#log(event));
    this.#watching = this.#watch();
  }

  /** Ends the watch. */
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
      logger.warn('A secret could not be read again; the one before stays in use', { from: name, error: event.reason });
  }
}
