import type { Msg } from '@nats-io/transport-node';
import { decodeObject, parseJson } from '../../../base/index.ts';

/** The parts of a server's answer to a batch that are used. */
export interface BatchAnswer {
  /** Id of the batch, in its result. */
  readonly batch?: unknown;
  /** Number of messages of the batch that are stored, in its result. */
  readonly count?: unknown;
  /** Stream that stored them. */
  readonly stream?: unknown;
  /** Error of the JetStream API. */
  readonly error?: unknown;
}

/** Maximum size of an answer. They have a few hundred bytes. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024;

/** Decodes an answer; `undefined` when it is none. */
export function decodeBatchAnswer({ data }: Pick<Msg, 'data'>): BatchAnswer | undefined {
  if (data.length > ANSWER_BYTES_MAX) return undefined;
  return decodeObject(parseJson(Buffer.from(data.buffer, data.byteOffset, data.length).toString()));
}

/** Returns how many of `sent` messages of a batch the stream has, and its name; `undefined` when this is not the result of the batch. */
export function readBatchResult(answer: BatchAnswer | undefined, id: string, sent: number) {
  if (answer === undefined || answer.error !== undefined || answer.batch !== id) return undefined;
  const { stream, count } = answer;
  if (typeof stream !== 'string' || typeof count !== 'number' || !(count >= 0 && count <= sent)) return undefined;
  return { taken: Math.floor(count), stream };
}

/** Returns the code of the error in an answer. */
export function readApiCode(answer: BatchAnswer | undefined): number | undefined {
  const code = decodeObject(answer?.error)?.['err_code'];
  return typeof code === 'number' ? code : undefined;
}
