import { type Clock, openDeadline } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { OpenDownload, TransportRequest } from './transport.ts';
import type { Turns } from './turns.ts';

/** One download, and what it needs to give way and to go on. */
export interface PartedDownloadOptions {
  /** Request of the whole download. */
  readonly request: Omit<TransportRequest, 'authorization'>;
  /** Sends the request, or that of a part. */
  readonly open: (request: Omit<TransportRequest, 'authorization'>) => Promise<OpenDownload>;
  /** Turns that go before it. */
  readonly turns: Turns;
  /** Returns true if this router sends parts of files. */
  readonly sendsParts: () => boolean;
  /** Called with whether the router sends parts of files, as it has just shown. */
  readonly noteParts: (isSent: boolean) => void;
  /** Limit of the time in which bytes are received. Milliseconds. */
  readonly timeMsMax: number;
  /** Clock for time limits. */
  readonly clock: Clock;
}

/** Bytes that are asked for again when a download goes on, to see that the file is still the same. */
const OVERLAP_BYTES = 256;
/** A part lasts at least this long, so that a router with long turns is read all the same. Milliseconds. */
const PART_MS_MIN = 5000;
/** Reason with which a part is ended when a turn is due. */
const GIVES_WAY = new DOMException('A turn goes before this download', 'AbortError');

/**
 * A download that gives way to turns. Where the router sends parts of files, the answer is ended when a turn is asked for,
 * and the rest is requested after it; the consumer notices nothing but a pause. Elsewhere the turn waits for its end.
 */
export class PartedDownload {
  readonly #options: PartedDownloadOptions;
  #leave: () => void = () => {};
  #part: OpenDownload | undefined;
  #cut = new AbortController();
  /** Offset of the next byte for the consumer. */
  #offset = 0;
  /** The last bytes that the consumer got. */
  #tail: Buffer = Buffer.alloc(0);
  #leftMs: number;

  constructor(options: PartedDownloadOptions) {
    this.#options = options;
    this.#leftMs = options.timeMsMax;
  }

  /** Sends the request as soon as no turn goes before it. */
  async open(): Promise<Pick<OpenDownload, 'start' | 'facts'>> {
    const part = await this.#request(this.#options.request);
    this.#offset = part.start;
    return part;
  }

  /** The body, over all parts. */
  async *read(): AsyncGenerator<Uint8Array> {
    while ((yield* this.#readPart()) === 'given-way') {
      await this.close();
      await this.#goOn();
    }
  }

  /** Ends the download and lets the next request in. */
  async close(): Promise<void> {
    try {
      await this.#part?.close();
    } finally {
      this.#part = undefined;
      this.#leave();
      this.#leave = () => {};
    }
  }

  async #request(request: Omit<TransportRequest, 'authorization'>): Promise<OpenDownload> {
    const { turns, open } = this.#options;
    const { signal } = request;
    this.#leave = await turns.enter(signal);
    this.#cut = new AbortController();
    const part = await open({ ...request, signal: AbortSignal.any([signal, this.#cut.signal]) });
    this.#part = part;
    if (part.sendsParts) this.#options.noteParts(true);
    return part;
  }

  async *#readPart(): AsyncGenerator<Uint8Array, 'ended' | 'given-way'> {
    const { clock, turns, sendsParts } = this.#options;
    const cut = this.#cut;
    const beganMs = clock.monotonic();
    using deadline = openDeadline(clock, this.#leftMs);
    const onLimit = () => cut.abort(deadline.signal.reason);
    deadline.signal.addEventListener('abort', onLimit, { once: true });
    const giveWay = () => cut.abort(GIVES_WAY);
    using waits = new DisposableStack();
    const onTurn = () => {
      if (!sendsParts()) return;
      const timer = clock.setTimer(Math.max(0, beganMs + PART_MS_MIN - clock.monotonic()), giveWay);
      waits.defer(() => timer.cancel());
    };
    if (turns.isAwaited) onTurn();
    waits.use(turns.watch(onTurn));
    try {
      for await (const chunk of this.#part?.body ?? []) {
        this.#note(chunk);
        yield chunk;
      }
      return 'ended';
    } catch (cause) {
      if (cause === GIVES_WAY) return 'given-way';
      throw cause === deadline.signal.reason ? this.#toLimitError() : cause;
    } finally {
      this.#leftMs -= clock.monotonic() - beganMs;
    }
  }

  #note(chunk: Uint8Array): void {
    this.#offset += chunk.length;
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-OVERLAP_BYTES)]).subarray(-OVERLAP_BYTES);
  }

  /** Requests the rest, and sees that it belongs to the same file. */
  async #goOn(): Promise<void> {
    const { request, noteParts } = this.#options;
    const tail = this.#tail;
    const rangeStart = this.#offset - tail.length;
    try {
      const part = await this.#request({ ...request, rangeStart, unlessEtag: undefined });
      if (part.start === rangeStart) {
        this.#part = { ...part, body: skipKnown(part.body, tail, () => this.#toChangedError()) };
        return;
      }
      noteParts(false);
    } catch (cause) {
      const status = cause instanceof RouterError ? cause.status : undefined;
      if (status === 206) noteParts(false);
      else if (status !== 416) throw cause;
    }
    throw this.#toChangedError();
  }

  #toChangedError(): RouterError {
    const { method, path } = this.#options.request;
    return new RouterError('connect', `${method} ${path} could not go on at byte ${this.#offset}`, {
      disposition: 'retry',
    });
  }

  #toLimitError(): RouterError {
    const { request, timeMsMax } = this.#options;
    return new RouterError('timeout', `${request.method} ${request.path} took longer than ${timeMsMax} ms`, {
      disposition: 'retry',
      isAnswered: true,
    });
  }
}

/** Hands on what follows `known`; throws what `toError` makes if the body does not begin with it. */
async function* skipKnown(
  body: AsyncIterable<Uint8Array>,
  known: Buffer,
  toError: () => RouterError,
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of body) {
    const length = Math.min(chunk.length, known.length - seen);
    if (!known.subarray(seen, seen + length).equals(chunk.subarray(0, length))) throw toError();
    seen += length;
    if (chunk.length > length) yield chunk.subarray(length);
  }
  if (seen < known.length) throw toError();
}
