import type { OutgoingRecord } from '../outgoing-record.ts';

/** How much is kept to be sent again, in bytes of the stored records. */
const REPLAY_BYTES_MAX = 4 * 1024 * 1024;

/** The records that were sent last, oldest first. Times are monotonic milliseconds. */
export class ReplayBuffer {
  readonly #replayMs: number;
  #sent: { readonly record: OutgoingRecord; readonly sentMs: number }[] = [];

  /** `replayMs`: how long before the last one a record may have been sent to be kept; 0: nothing is. */
  constructor(replayMs: number) {
    this.#replayMs = replayMs;
  }

  get records(): readonly OutgoingRecord[] {
    return this.#sent.map(({ record }) => record);
  }

  add(records: readonly OutgoingRecord[], nowMs: number): void {
    this.forget(nowMs);
    if (this.#replayMs === 0) return;
    this.#sent.push(...records.map((record) => ({ record, sentMs: nowMs })));
    let bytes = 0;
    const cut = this.#sent.findLastIndex(({ record }) => {
      bytes += record.line.length;
      return bytes > REPLAY_BYTES_MAX;
    });
    this.#sent.splice(0, cut + 1);
  }

  /** Forgets what was sent too long before `nowMs`. */
  forget(nowMs: number): void {
    this.#sent = this.#sent.filter(({ sentMs }) => nowMs - sentMs < this.#replayMs);
  }

  clear(): void {
    this.#sent = [];
  }
}
