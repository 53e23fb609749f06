import type { Clock, Timer } from '../base/index.ts';
import type { LogLine } from './api/logs.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { WebContext } from './web-dependencies.ts';

/** Readers at a time. */
const READERS_MAX = 50;
/** Bound of the lines waiting for a slow reader, who is disconnected beyond it. Bytes. */
const WAITING_BYTES_MAX = 256 * 1024;
/** Lines of one commit that are sent, the last ones: nobody can take more of them at a time. Characters. */
const BURST_LENGTH_MAX = 512 * 1024;
/** Interval of the comments that tell whether a reader is still there. Milliseconds. */
const BEAT_MS = 15_000;
/** A stream ends after as many, and the reader comes again with its credentials: 15 minutes. */
const BEATS_MAX = 60;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies such as nginx would collect the lines.
  'X-Accel-Buffering': 'no',
};

/** One open stream. */
interface Reader {
  beats: number;
  /** Sends text, if the reader is still there. */
  send(text: string): void;
  /** Cuts the reader off when too much waits for it, before anything is sent that has come meanwhile. */
  judge(): void;
  end(): void;
}

/** Source of the lines of a stream: calls the listener, with how many others were left out, until the returned function is called. */
export type FollowLines = (listener: (lines: readonly LogLine[], skipped: number) => void) => () => void;

/**
 * Streams of new lines as server-sent events: `line` has the rendered line, `skipped` the number of lines that were left out, and
 * `cut` ends the stream of a reader that is too slow.
 */
export class LiveTail {
  readonly #clock: Clock;
  readonly #places = new ConcurrencyLimit(READERS_MAX);
  readonly #readers = new Set<Reader>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers with a stream of lines; 503 when all places are taken. */
  answer(context: WebContext, follow: FollowLines, render: (line: LogLine) => string): Response {
    const leave = this.#places.enter(context.get('sharer'));
    if (!leave) {
      return context.text(`Too many live readers (${READERS_MAX}); try again later.\n`, 503, { 'Retry-After': '30' });
    }
    let isOpen = true;
    let unfollow = () => {};
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#timer?.cancel();
      unfollow();
      leave();
    };
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const reader: Reader = {
      beats: 0,
      send(text) {
        if (isOpen) controller?.enqueue(Buffer.from(text));
      },
      judge() {
        if (!isOpen || !controller || (controller.desiredSize ?? 0) > 0) return;
        reader.send('event: cut\ndata: slow\n\n');
        reader.end();
      },
      end() {
        if (!isOpen) return;
        close();
        controller?.close();
      },
    };
    const stream = new ReadableStream<Uint8Array>(
      {
        start(opened) {
          controller = opened;
          reader.send(': open\n\n');
        },
        cancel: close,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES_MAX }),
    );
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.#beat();
    const send = (event: string, data: string | number) =>
      reader.send(`event: ${event}\ndata: ${String(data).replaceAll(/[\r\n]+/g, ' ')}\n\n`);
    unfollow = follow((lines, skipped) => {
      reader.judge();
      if (!isOpen) return;
      const last: string[] = [];
      let length = 0;
      for (const line of lines.toReversed()) {
        const text = render(line);
        length += text.length;
        if (last.length > 0 && length > BURST_LENGTH_MAX) break;
        last.unshift(text);
      }
      const left = skipped + lines.length - last.length;
      if (left > 0) send('skipped', left);
      for (const text of last) send('line', text);
    });
    context.env.outgoing?.once('close', close);
    return context.body(stream, 200, HEADERS);
  }

  /** One timer for all readers. */
  #beat(): void {
    this.#timer = this.#clock.setTimer(BEAT_MS, () => {
      for (const reader of [...this.#readers]) {
        if (++reader.beats > BEATS_MAX) reader.end();
        else {
          reader.judge();
          reader.send(': beat\n\n');
        }
      }
      if (this.#readers.size > 0) this.#beat();
    });
  }
}
