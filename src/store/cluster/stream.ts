import { isDeepStrictEqual } from 'node:util';
import { decodeObject } from '../../base/index.ts';
import { findFormatFault, STREAM_METADATA } from '../../net/index.ts';
import { StoreError } from '../errors.ts';
import { LETTERS_BYTES_MAX } from '../letters.ts';
import { ApiRefusal, type ClusterLink } from './link.ts';
import type { Subjects } from './subjects.ts';

/** Size of the stream of a cluster, for its creation. */
export interface ClusterStreamSize {
  /** Number of servers that store each message. */
  readonly replicas: number;
  /** Maximum size of the stream with positions and records. Bytes. */
  readonly bytesMax: number;
  /** Maximum size of all dead letters, as the replicas have it. Bytes. Default 64 MiB. */
  readonly lettersBytesMax?: number | undefined;
}

/** The stream as it is. */
export interface ClusterStreamState {
  /** Maximum size. Bytes. */
  readonly bytesMax: number;
  /** Size of all messages. Bytes. */
  readonly bytes: number;
  /** Number of the last message. */
  readonly lastSeq: number;
}

/** Part of the stream that records leave free, so that cursors can move and make room: they are small. */
const RESERVE_SHARE = 0.05;
const RESERVE_BYTES_MAX = 64 * 1024 * 1024;

/** Room in the stream of the dead letters beside what counts against their limit: subjects, headers and marks of removals. */
export const LETTERS_ROOM_FACTOR = 1.5;
/** No such stream. */
const NO_STREAM = 10_059;

/** Required settings of every stream of a cluster. The keys are those of the JetStream API. */
const COMMON_CONFIG = {
  retention: 'limits',
  discard: 'new',
  storage: 'file',
  max_age: 0,
  max_msgs: -1,
  max_msg_size: -1,
  discard_new_per_subject: false,
  max_consumers: -1,
  no_ack: false,
  sealed: false,
  deny_delete: false,
  deny_purge: false,
  allow_msg_ttl: true,
  // Fields of functions that would change, move or share the messages.
  mirror: undefined,
  sources: undefined,
  subject_transform: undefined,
  subject_delete_marker_ttl: undefined,
};

/** A stream, and what it must be. */
interface RequiredStream {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Any other limit would remove positions, and without the rest no step would be one commit. */
function requireRecords(subjects: Subjects): RequiredStream {
  const own = { max_msgs_per_subject: -1, allow_atomic: true, allow_rollup_hdrs: true };
  return { name: subjects.stream, config: { subjects: [subjects.all], ...COMMON_CONFIG, ...own } };
}

/** A letter replaces the one before it of the same record and sink. */
function requireLetters(subjects: Subjects): RequiredStream {
  const config = { subjects: [subjects.letters], ...COMMON_CONFIG, max_msgs_per_subject: 1 };
  return { name: subjects.lettersStream, config };
}

/** Values that mean the same as if the field was absent, or that the server leaves out. */
const ABSENT: readonly unknown[] = [undefined, null, 0, false, ''];

/** Returns what is wrong with a stream, field by field; empty if nothing is. */
function findFaults(
  config: Readonly<Record<string, unknown>>,
  required: Readonly<Record<string, unknown>>,
): readonly string[] {
  return Object.entries(required).flatMap(([field, wanted]) => {
    const found = config[field];
    const isSame = ABSENT.includes(wanted)
      ? ABSENT.includes(found) || isEmpty(found)
      : isDeepStrictEqual(found, wanted);
    return isSame
      ? []
      : [`${field} is ${JSON.stringify(found) ?? 'not set'} and must be ${JSON.stringify(wanted) ?? 'not set'}`];
  });
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** A stream of a cluster. */
export interface ClusterStream {
  readonly name: string;
  /** What it holds, as commands say it. */
  readonly content: string;
  /** True if it was created now. */
  readonly isNew: boolean;
}

/** Creates the streams of the cluster that are missing; one that exists already must be right. */
export async function initClusterStreams(
  link: ClusterLink,
  subjects: Subjects,
  { replicas, bytesMax, lettersBytesMax = LETTERS_BYTES_MAX }: ClusterStreamSize,
): Promise<readonly ClusterStream[]> {
  const areRecordsNew = await init(link, requireRecords(subjects), replicas, bytesMax);
  const lettersMax = Math.ceil(lettersBytesMax * LETTERS_ROOM_FACTOR);
  const areLettersNew = await init(link, requireLetters(subjects), replicas, lettersMax);
  return [
    { name: subjects.stream, content: 'positions and records', isNew: areRecordsNew },
    { name: subjects.lettersStream, content: 'dead letters', isNew: areLettersNew },
  ];
}

async function init(link: ClusterLink, required: RequiredStream, replicas: number, bytesMax: number): Promise<boolean> {
  try {
    await check(link, required);
    return false;
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code !== 'absent') throw cause;
  }
  const { name, config } = required;
  await link.ask(`STREAM.CREATE.${name}`, {
    ...config,
    name,
    metadata: STREAM_METADATA,
    num_replicas: replicas,
    max_bytes: bytesMax,
  });
  await check(link, required);
  return true;
}

/** Rejects with code `absent` if there is no stream, with `format` if it has another one, and with `broken` if it is not as it must be. */
export function checkClusterStream(link: ClusterLink, subjects: Subjects): Promise<ClusterStreamState> {
  return check(link, requireRecords(subjects));
}

/** As {@link checkClusterStream}, of the stream of the dead letters. */
export function checkLettersStream(link: ClusterLink, subjects: Subjects): Promise<ClusterStreamState> {
  return check(link, requireLetters(subjects));
}

async function check(link: ClusterLink, { name, config: required }: RequiredStream): Promise<ClusterStreamState> {
  let info: Readonly<Record<string, unknown>>;
  try {
    info = await link.ask(`STREAM.INFO.${name}`);
  } catch (cause) {
    if (!(cause instanceof ApiRefusal) || cause.apiCode !== NO_STREAM) throw cause;
    throw new StoreError('absent', `The cluster has no stream ${name}`, {
      disposition: 'operator',
      hint: 'Create it with router-exporter cluster init',
    });
  }
  const config = Object(info['config']) as Readonly<Record<string, unknown>>;
  const otherFormat = findFormatFault(name, config);
  if (otherFormat) {
    const { message, hint } = otherFormat;
    throw new StoreError('format', message, { disposition: 'operator', hint });
  }
  const faults = findFaults(config, required);
  if (faults.length > 0) {
    throw new StoreError('broken', `The stream ${name} is not as the cluster needs it: ${faults.join('; ')}`, {
      disposition: 'operator',
      hint: 'Change these fields of the stream, or let router-exporter cluster init make another one',
    });
  }
  return readStreamState(info);
}

/** Reads size and last message of the answer to a request for the stream. */
export function readStreamState(info: Readonly<Record<string, unknown>>): ClusterStreamState {
  const number = (of: unknown, field: string): number => {
    const value = decodeObject(of)?.[field];
    return typeof value === 'number' ? value : 0;
  };
  const { config, state } = info;
  const bytesMax = number(config, 'max_bytes');
  return {
    bytesMax: bytesMax > 0 ? bytesMax : Number.POSITIVE_INFINITY,
    bytes: number(state, 'bytes'),
    lastSeq: number(state, 'last_seq'),
  };
}

/** Returns the space of the stream that records must leave free. Bytes. */
export function reserveOf({ bytesMax }: Pick<ClusterStreamState, 'bytesMax'>): number {
  return Math.min(bytesMax * RESERVE_SHARE, RESERVE_BYTES_MAX);
}

/** Throws {@link StoreError} `full` if so many bytes of records would take what is kept free for cursors. */
export function checkRoom(state: ClusterStreamState, bytes: number): void {
  const { bytes: used, bytesMax } = state;
  if (bytesMax - used - bytes >= reserveOf(state)) return;
  throw new StoreError('full', `The stream of the cluster has ${used} of ${bytesMax} bytes`, {
    disposition: 'hold-back',
    hint: 'Look at the sinks: records leave the stream once every sink has them. Or raise max_bytes of the stream',
  });
}
