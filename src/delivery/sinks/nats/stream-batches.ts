import type { Clock } from '../../../base/index.ts';
import type { NatsLibrary } from '../../../net/index.ts';
import { AtomicBatches } from './atomic-batches.ts';
import type { NatsPublisher } from './publisher.ts';
import { findStream, readStream, takesBatches } from './stream.ts';

/** The stream, and how records reach it. */
export interface StreamBatchesOptions {
  /** Prefix of the subjects. */
  readonly subject: string;
  /** Name of the stream; absent = the one that stores the subject. */
  readonly stream?: string | undefined;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
}

/** The settings of the stream are read again after this time. Milliseconds. */
const SETTINGS_MS_MAX = 60_000;

/** Knows how the stream takes batches over one connection. */
export class StreamBatches {
  readonly #nats: NatsLibrary;
  readonly #publisher: NatsPublisher;
  readonly #options: StreamBatchesOptions;
  #batches: AtomicBatches | undefined;
  /** Time at which the settings of the stream are read again. Monotonic milliseconds. */
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(nats: NatsLibrary, publisher: NatsPublisher, options: StreamBatchesOptions) {
    this.#nats = nats;
    this.#publisher = publisher;
    this.#options = options;
  }

  /**
   * Returns how to publish batches to the stream that stores `subject`; `undefined` when it allows none, or when the account may
   * not read its settings.
   */
  async find(subject: string): Promise<AtomicBatches | undefined> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs >= this.#untilMs) {
      const takes = await this.#readSettings(subject).catch(() => false);
      this.#untilMs = nowMs + SETTINGS_MS_MAX;
      if (!takes) this.#batches = undefined;
      else this.#batches ??= new AtomicBatches(this.#nats, this.#publisher);
    }
    return this.#batches;
  }

  /** Reads the settings of the stream again before the next batch: it did not take one. */
  doubt(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }

  /** Resolves to true if the stream takes batches. */
  async #readSettings(subject: string): Promise<boolean> {
    const { connection } = this.#publisher;
    const name = this.#options.stream ?? (await findStream(this.#nats, connection, subject));
    return takesBatches(await readStream(this.#nats, connection, name), this.#options.subject);
  }
}
