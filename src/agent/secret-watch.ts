import type { Clock, Logger } from '../base/index.ts';
import type { SecretEvent, SecretKeeper } from '../settings/index.ts';

/** Secrets to keep up to date. */
export interface SecretWatchOptions {
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
