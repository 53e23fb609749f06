import type { DeliveryWorkerOptions, WatchedConnection } from './contracts.ts';
import { DeliveryError } from './errors.ts';

/**
 * Maximum number of times that possibly lost records are repeated before new ones are sent: otherwise a receiver that is
 * merely busy (5xx) would never get new records.
 */
const PASSES_MAX = 3;

/**
 * The second policy: repeat after loss. When a sink that may lose accepted records has failed or ended its connection, the spool
 * returns the last accepted records again.
 */
export class RepeatAfterLoss<Cursor> {
  readonly #options: Pick<DeliveryWorkerOptions<Cursor>, 'sink' | 'spool'>;
  /** Set while the sink may have lost accepted records. Initially set: it may have failed while this process did not run. */
  #lost: { readonly endedMs?: number | undefined } | undefined = {};
  /** True when the sink has accepted records since its last failure. */
  #hasTaken = false;
  /** Number of repeats since the sink last accepted new records. */
  #passes = 0;

  constructor(options: Pick<DeliveryWorkerOptions<Cursor>, 'sink' | 'spool'>) {
    this.#options = options;
  }

  /** The sink may have lost what it took: another worker serves it now, or has. */
  assume(): void {
    this.#lost = {};
  }

  /** The sink has accepted records. */
  noteTaken(): void {
    this.#hasTaken = true;
  }

  /** Records are settled that are no repeats, and the sink has accepted some. */
  noteProgress(): void {
    this.#passes = 0;
  }

  /** An attempt has failed. */
  noteFailure(cause: unknown): void {
    if (!this.#options.sink.connection || !(cause instanceof DeliveryError) || !mayHaveLost(cause)) return;
    // Nothing was accepted since the last failure, so nothing more can be lost.
    if (!this.#hasTaken) return;
    // What is not repeated now may still be lost with the connection.
    if (cause.code !== 'unreachable' && ++this.#passes > PASSES_MAX) return;
    this.#hasTaken = false;
    this.#lost = {};
  }

  /** Rewinds the spool to the records that the sink may have lost. Resolves to true if it did: what was read is outdated. */
  async rewind(connection: WatchedConnection): Promise<boolean> {
    const { sink, spool } = this.#options;
    const end = await connection.takeEnd();
    this.#lost ??= end;
    if (!this.#lost) return false;
    await spool.repeat(sink.name, this.#lost.endedMs);
    this.#lost = undefined;
    return true;
  }
}

/** True when a receiver may have lost accepted records: its connection broke, or it answered 5xx. */
function mayHaveLost({ code, answer = '', mayBeOfRecords }: DeliveryError): boolean {
  if (mayBeOfRecords) return false;
  return code === 'unreachable' || code === 'timeout' || code === 'protocol_error' || /^5\d\d$/.test(answer);
}
