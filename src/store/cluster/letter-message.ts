import type { MsgHdrs } from '@nats-io/transport-node';
import { decodeObject, parseJson, readString, unpackLines } from '../../base/index.ts';
import type { StoredLetter } from '../letters.ts';
import type { IndexedLetter } from './letter-index.ts';
import { LINES_BYTES_MAX } from './record-feed.ts';

/** Size of a letter as counted against the limit. A message without it is the mark of a removal. */
const BYTES_HEADER = 'Rx-Bytes';
/** Time of the rejection. Milliseconds since the Unix epoch. */
const TIME_HEADER = 'Rx-Time';
/** Marks a letter for replay: 1. */
const REPLAY_HEADER = 'Rx-Replay';
/** Number of the letter, where its message is a later one. */
const NUMBER_HEADER = 'Rx-Letter';
/** Lifetime of the marker of a removal. Milliseconds. */
export const GONE_MS = 60_000;

/** Headers of a dead letter's message. */
export const LETTER_HEADERS = {
  /** Lifetime of the marker of a removal, as a header value. */
  goneTtl: `${GONE_MS / 1000}s`,

  write(letter: Omit<IndexedLetter, 'id' | 'seq'> & { readonly id?: number }): readonly string[] {
    const { id, bytes, atMs, isReplayed } = letter;
    return [
      ...[BYTES_HEADER, String(bytes), TIME_HEADER, String(atMs)],
      ...(isReplayed ? [REPLAY_HEADER, '1'] : []),
      ...(id === undefined ? [] : [NUMBER_HEADER, String(id)]),
    ];
  },

  /** `undefined` for the mark of a removal, and for what somebody else has written. */
  read(headers: MsgHdrs | undefined, seq: number): Omit<IndexedLetter, 'sink' | 'uid'> | undefined {
    const number = (name: string) => (headers?.has(name) ? Number(headers.get(name)) : Number.NaN);
    const [bytes, atMs] = [number(BYTES_HEADER), number(TIME_HEADER)];
    if (!(Number.isSafeInteger(bytes) && bytes > 0 && Number.isSafeInteger(atMs))) return undefined;
    const id = number(NUMBER_HEADER);
    const isOlder = Number.isSafeInteger(id) && id > 0 && id <= seq;
    return { id: isOlder ? id : seq, seq, bytes, atMs, isReplayed: number(REPLAY_HEADER) === 1 };
  },
};

type LetterFields = Pick<StoredLetter, 'line' | 'reason' | 'code' | 'router' | 'component' | 'timestamp' | 'atMs'>;

/** Renders a letter as the content of a message, which is packed. */
export function renderLetter({ line, reason, code, router, component, timestamp, atMs }: LetterFields): string {
  return JSON.stringify({ version: 1, atMs, code, reason, router, component, timestamp, line });
}

/** Reads the packed content of a message; `undefined` if it is damaged. */
export function readLetter(payload: Uint8Array): LetterFields | undefined {
  let json: string;
  try {
    json = unpackLines(payload, LINES_BYTES_MAX).memory.toString();
  } catch {
    return undefined;
  }
  const fields = decodeObject(parseJson(json)) ?? {};
  const text = (name: string) => readString(fields, name);
  const { atMs, version } = fields;
  const [line, reason] = [text('line'), text('reason')];
  if (version !== 1 || typeof atMs !== 'number' || line === undefined || reason === undefined) return undefined;
  const [code, timestamp] = [text('code'), text('timestamp')];
  return { line, reason, code, router: text('router') ?? '', component: text('component') ?? '', timestamp, atMs };
}
