import type { NatsConnection } from '@nats-io/transport-node';
import type { NatsLibrary } from '../../../net/index.ts';
import { isCovering } from './subject.ts';

/** Default duplicate window of a stream. Milliseconds. */
export const DUPLICATE_WINDOW_MS = 2 * 60_000;

/** The settings of a stream. */
export interface NatsStream {
  /** Name of the stream. */
  readonly name: string;
  /** Subjects that the stream stores. */
  readonly subjects: readonly string[];
  /** Window in which the stream detects duplicates. Milliseconds. */
  readonly duplicateWindowMs: number;
  /** Maximum size of a message; absent = no limit. Bytes. */
  readonly messageBytesMax?: number | undefined;
  /** Storage type: `file` or `memory`. */
  readonly storage: string;
  /** Discard policy when the stream is full: `old` or `new`. */
  readonly discard: string;
  /** True when the stream sends no acknowledgements. */
  readonly isSilent: boolean;
  /** True when the stream accepts atomic batches (nats-server 2.12). */
  readonly hasAtomicBatches: boolean;
}

/** True when records below a prefix can be published in atomic batches. A batch goes to one stream, so it must store all subjects. */
export function takesBatches({ subjects, hasAtomicBatches }: NatsStream, prefix: string): boolean {
  return hasAtomicBatches && subjects.some((pattern) => isCovering(pattern, prefix));
}

/** Time limit of a request. Milliseconds. */
const ASK_MS_MAX = 5000;
const NS_PER_MS = 1_000_000;

/** Returns the name of the stream that stores a subject. Throws the library's errors. */
export async function findStream(nats: NatsLibrary, connection: NatsConnection, subject: string): Promise<string> {
  const manager = await nats.jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS_MAX });
  return await manager.streams.find(subject);
}

/** Resolves to true if a stream stores a subject, with a leader or without. Throws the library's errors. */
export async function hasStream(nats: NatsLibrary, connection: NatsConnection, subject: string): Promise<boolean> {
  const manager = await nats.jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS_MAX });
  for await (const _ of manager.streams.names(subject)) return true;
  return false;
}

/** Requests the settings of a stream. Throws the library's errors. */
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
    hasAtomicBatches: config.allow_atomic === true,
  };
}
