import type { Agent } from 'undici';
import { type Clock, openDeadline, untilAborted } from '../../base/index.ts';
import { request } from '../../net/index.ts';
import { ANSWER_MS_MAX } from './peer-client.ts';

/** One server-sent event. */
export interface PeerEvent {
  /** `open` when the stream has begun, then as sent. */
  readonly name: string;
  /** Its data. */
  readonly data: string;
}

/** Address of a stream. */
export interface StreamPlace {
  /** Client without limits of its own. */
  readonly agent: Agent;
  /** Clock for the limits. */
  readonly clock: Clock;
  /** Its address. */
  readonly url: string;
  /** Headers of the request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A process that sends nothing for so long, not even one of its signs of life every 15 s, is away. Milliseconds. */
const SILENT_MS_MAX = 45_000;
/** One event: a line has up to 64 KiB, and its JSON may have several times as much. Characters. */
const EVENT_CHARS_MAX = 1024 * 1024;

/**
 * Reads the events of a stream until it ends, is refused or falls silent, or `signal` aborts. Throws what the connection
 * throws, and the reason of `signal`.
 */
export async function* readEvents(place: StreamPlace, signal: AbortSignal): AsyncGenerator<PeerEvent> {
  const { agent, clock, url, headers } = place;
  const ended = new AbortController();
  const within = async <T>(limitMs: number, promise: Promise<T>): Promise<T> => {
    using deadline = openDeadline(clock, limitMs, signal);
    return await untilAborted(promise, deadline.signal);
  };
  try {
    const asked = request(agent, url, {
      method: 'GET',
      headers: { 'accept-encoding': 'identity', ...headers },
      signal: ended.signal,
    });
    const { statusCode, body } = await within(ANSWER_MS_MAX, asked);
    if (statusCode !== 200) return;
    yield { name: 'open', data: '' };
    const decoder = new TextDecoder();
    const chunks = body[Symbol.asyncIterator]();
    let text = '';
    while (text.length <= EVENT_CHARS_MAX) {
      const { done, value } = await within<IteratorResult<Uint8Array>>(SILENT_MS_MAX, chunks.next());
      if (done === true) return;
      text += decoder.decode(value, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        // Not `.`: it stops at U+2028, which a line of a log may have.
        const [, name, data] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(event) ?? [];
        // Anything else is a sign of life.
        if (name !== undefined && data !== undefined) yield { name, data };
      }
    }
  } finally {
    ended.abort();
  }
}
