import type { NatsConnection } from '@nats-io/transport-node';
import type { NatsLibrary } from './library.ts';

/** What a stream remembers ids for unless it is told otherwise. Milliseconds. */
export const DUPLICATE_WINDOW_MS = 2 * 60_000;

/** What is known about a stream. */
export interface NatsStream {
  /** Name of the stream. */
  readonly name: string;
  /** Subjects that the stream stores. */
  readonly subjects: readonly string[];
  /** Window in which the stream detects duplicates. Milliseconds. */
  readonly duplicateWindowMs: number;
  /** Largest message, in bytes; absent: no bound of its own. */
  readonly messageBytesMax?: number | undefined;
  /** Storage type: `file` or `memory`. */
  readonly storage: string;
  /** Discard policy when the stream is full: `old` or `new`. */
  readonly discard: string;
  /** Whether it takes messages and gives no acknowledgements. */
  readonly isSilent: boolean;
}

/** Limit of one question. Milliseconds. */
const ASK_MS_MAX = 5000;
const NS_PER_MS = 1_000_000;

/** Name of the stream that takes a subject. Throws what the library throws. */
export async function findStream(nats: NatsLibrary, connection: NatsConnection, subject: string): Promise<string> {
  const manager = await nats.jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS_MAX });
  return await manager.streams.find(subject);
}

/** Asks for the settings of a stream. Throws what the library throws. */
export async function readStream(nats: NatsLibrary, connection: NatsConnection, name: string): Promise<NatsStream> {
  const manager = await nats.jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS_MAX });
  const { config } = await manager.streams.info(name);
  return {
    name,
    subjects: config.subjects ?? [],
    duplicateWindowMs: config.duplicate_window ? config.duplicate_window / NS_PER_MS : DUPLICATE_WINDOW_MS,
    messageBytesMax: config.max_msg_size > 0 ? config.max_msg_size : undefined,
    storage: config.storage,
    discard: config.discard,
    isSilent: config.no_ack === true,
  };
}
