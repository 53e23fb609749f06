import type { Timer } from '../../base/index.ts';
import { RESUME_SHARE } from '../contracts.ts';
import { StoreError } from '../errors.ts';
import { type ClusterLink, toAway } from './link.ts';
import { type ClusterStreamState, checkClusterStream, checkLettersStream, checkRoom, reserveOf } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** The stream to watch, and whom to tell what. */
export interface StreamWatchOptions {
  /** Connection to the engine. */
  readonly link: ClusterLink;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** Called when the streams were found to be as they must be, with that of the dead letters. */
  readonly onReady: (letters: ClusterStreamState) => void;
  /** Called when they are not, once for each reason. */
  readonly onFault: (fault: StoreError) => void;
  /** Called with each answer about size and last message. */
  readonly onState: (state: ClusterStreamState) => void;
}

/** Interval at which the size of the stream is asked. Milliseconds. */
const SIZE_MS = 2000;
/** Records that every sink has are given up when this many times the reserve is free. */
const TIGHT_FACTOR = 2;

/** Knows whether the streams of the cluster are as they must be, and how full that of the records is. */
export class StreamWatch {
  readonly #options: StreamWatchOptions;
  #state: ClusterStreamState | undefined;
  #fault: StoreError | undefined;
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: StreamWatchOptions) {
    this.#options = options;
  }

  /** The stream as it was lately; `undefined` until it was checked. */
  get state(): ClusterStreamState | undefined {
    return this.#state;
  }

  /** The fault of the streams, if there is one. */
  get fault(): StoreError | undefined {
    return this.#fault;
  }

  /** Maximum size of the stream; infinite while it is not known. Bytes. */
  get bytesMax(): number {
    return this.#state?.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  /** Free space of the stream; infinite while it is unknown. Bytes. */
  get freeBytes(): number {
    return this.bytesMax - (this.#state?.bytes ?? 0);
  }

  /** True while records have hardly any room, or less than logs wait for that are not read. */
  get isTight(): boolean {
    return this.freeBytes < Math.max(TIGHT_FACTOR * reserveOf(this), RESUME_SHARE * this.bytesMax);
  }

  /** Looks now and then, until the end. */
  begin(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.link.clock.setTimer(SIZE_MS, () => {
      void this.look().finally(() => this.begin());
    });
  }

  /** There is a new connection: everything is checked again. */
  noteConnected(): void {
    this.#checking = this.#check();
  }

  /** Resolves when the check of the last connection has ended. Rejects with what is wrong. */
  async whenChecked(): Promise<void> {
    await this.#checking;
    if (this.#fault) throw this.#fault;
  }

  /** Something was stored by this replica. */
  addBytes(bytes: number): void {
    if (this.#state) this.#state = { ...this.#state, bytes: this.#state.bytes + bytes };
  }

  /** Throws if so many bytes of records would take what is kept free for cursors. */
  checkRoom(bytes: number): void {
    if (this.#state) checkRoom(this.#state, bytes);
  }

  /** Throws why nothing can be written, as far as that is known. A full stream still has room for cursors. */
  checkWritable(): void {
    const { link } = this.#options;
    if (this.#fault) throw this.#fault;
    if (!link.connection) throw toAway(link.fault);
  }

  /** Asks for the size of the stream, and whether it is still as it must be; streams that could not be checked are checked again. */
  async look(): Promise<void> {
    const { link, subjects, onState } = this.#options;
    if (!link.connection) return;
    if (!this.#state || this.#fault) {
      await this.#check();
      return;
    }
    try {
      this.#state = await checkClusterStream(link, subjects);
      onState(this.#state);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      // Somebody has removed or changed it. Otherwise the engine is away, and the link says so.
      if (cause.disposition === 'operator') this.#noteFault(cause);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #check(): Promise<void> {
    const { link, subjects, onReady, onState } = this.#options;
    try {
      const [state, letters] = await Promise.all([
        checkClusterStream(link, subjects),
        checkLettersStream(link, subjects),
      ]);
      this.#state = state;
      this.#fault = undefined;
      onState(state);
      onReady(letters);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#noteFault(cause);
    }
  }

  #noteFault(fault: StoreError): void {
    if (this.#isClosed) return;
    const isNew = this.#fault?.message !== fault.message;
    this.#fault = fault;
    if (isNew) this.#options.onFault(fault);
  }
}
