import type { Clock } from '../../../base/index.ts';
import type { NatsLibrary } from '../../../net/index.ts';
import { AtomicBatches } from './atomic-batches.ts';
import { FastIngest } from './fast-ingest.ts';
import type { BatchPublisher } from './publish-in-batches.ts';
import { choosePublishMode, type PublishMode } from './publish-mode.ts';
import type { NatsPublisher } from './publisher.ts';
import { findStream, readStream } from './stream.ts';

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
  #mode: PublishMode = 'single';
  #batches: BatchPublisher | undefined;
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
  async find(subject: string): Promise<BatchPublisher | undefined> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs >= this.#untilMs) {
      const found = await this.#readMode(subject).catch((): PublishMode => 'single');
      const mode = this.#publisher.connection.isClosed() ? this.#mode : found;
      this.#untilMs = nowMs + SETTINGS_MS_MAX;
      if (mode !== this.#mode) this.#change(mode);
    }
    return this.#batches;
  }

  /** Reads the settings of the stream again before the next batch: it did not take one. */
  doubt(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }

  async #readMode(subject: string): Promise<PublishMode> {
    const { connection } = this.#publisher;
    const name = this.#options.stream ?? (await findStream(this.#nats, connection, subject));
    return choosePublishMode(await readStream(this.#nats, connection, name), this.#options.subject);
  }

  #change(mode: PublishMode): void {
    this.#batches?.close();
    this.#mode = mode;
    if (mode === 'fast') this.#batches = new FastIngest(this.#nats, this.#publisher, this.#options.clock);
    else if (mode === 'atomic') this.#batches = new AtomicBatches(this.#nats, this.#publisher);
    else this.#batches = undefined;
  }
}
