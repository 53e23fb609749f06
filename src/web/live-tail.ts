import type { Clock, Timer } from '../base/index.ts';
import { type LogLine, parseRecordQuery, type RecordQuery } from './api/logs.ts';
import { renderLine } from './pages/log-lines.ts';
import type { WebContext } from './server/context.ts';
import { type Handler, toBase, type WebDependencies } from './server/context.ts';
import { ConcurrencyLimit } from './server/limits.ts';
import type { FleetContent } from './whole-fleet.ts';

/** The content of live streams. */
export interface StreamContent extends Pick<FleetContent, 'hasRouter'> {
  /** Calls `listener` with matching lines when they are stored, oldest first, and the number omitted; returns the unsubscribe function. */
  followRecords(query: RecordQuery, listener: (lines: readonly LogLine[], skipped: number) => void): () => void;
}

const READERS_MAX = 50;
/** Data waiting for a slow reader, which is disconnected above it. Bytes. */
const WAITING_BYTES_MAX = 256 * 1024;
/** Of a larger commit, only the last lines are sent. Characters. */
const BURST_LENGTH_MAX = 512 * 1024;
/** Interval of the comments that detect whether a reader is still connected. Milliseconds. */
const BEAT_MS = 15_000;
/** After 15 minutes a stream ends, and the reader reconnects with its credentials. */
const BEATS_MAX = 60;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies such as nginx would buffer the lines.
  'X-Accel-Buffering': 'no',
};

interface Reader {
  beats: number;
  /** Does nothing after the reader has disconnected. */
  send(text: string): void;
  /** Disconnects a reader that is too slow, before new data is sent. */
  dropIfSlow(): void;
  end(): void;
}

/** Creates the handler of the streams of new lines of this process or of one router: HTML for pages, JSON for API clients. */
export function createStreamHandler(dependencies: WebDependencies<StreamContent>): Handler {
  const { content, clock } = dependencies;
  const tail = new LiveTail(clock);
  const base = toBase(dependencies, '');
  return (context) => {
    const router = context.req.param('name');
    if (router !== undefined && !content.hasRouter(router)) return context.text('No such router.\n', 404);
    const query = { ...parseRecordQuery(context), ...(router !== undefined && { router }) };
    const follow: FollowLines = (listener) => content.followRecords(query, listener);
    if (context.req.path.endsWith('/api/v1/records/stream')) return tail.answer(context, follow, JSON.stringify);
    return tail.answer(context, follow, (line) => {
      const piece = renderLine(line, undefined, { router, base });
      // Without asynchronous parts, the HTML is available at once.
      return piece instanceof Promise ? '' : piece.toString();
    });
  };
}

type FollowLines = (listener: (lines: readonly LogLine[], skipped: number) => void) => () => void;

/** Server-sent events: `line` is a rendered line, `skipped` the number of omitted lines, `cut` ends the stream of a slow reader. */
class LiveTail {
  readonly #clock: Clock;
  readonly #limit = new ConcurrencyLimit(READERS_MAX);
  readonly #readers = new Set<Reader>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  answer(context: WebContext, follow: FollowLines, render: (line: LogLine) => string): Response {
    const leave = this.#limit.enter(context.get('limitedClient'));
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
      dropIfSlow() {
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
      reader.dropIfSlow();
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

  #beat(): void {
    this.#timer = this.#clock.setTimer(BEAT_MS, () => {
      for (const reader of [...this.#readers]) {
        if (++reader.beats > BEATS_MAX) reader.end();
        else {
          reader.dropIfSlow();
          reader.send(': beat\n\n');
        }
      }
      if (this.#readers.size > 0) this.#beat();
    });
  }
}
