import { isDeepStrictEqual } from 'node:util';
import { StoreError } from '../errors.ts';
import { ApiRefusal, type ClusterLink } from './link.ts';
import type { Subjects } from './subjects.ts';

/** Size of the stream of a cluster, for its creation. */
export interface ClusterStreamSize {
  /** Number of servers that store each message. */
  readonly replicas: number;
  /** Maximum size. Bytes. */
  readonly bytesMax: number;
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

/** No such stream. */
const NO_STREAM = 10_059;

/**
 * What the stream must be: any other limit would remove positions, and without the rest no step would be one commit. The keys are
 * those of the JetStream API.
 */
function requiredConfig(subjects: Subjects): Readonly<Record<string, unknown>> {
  return {
    subjects: [subjects.all],
    retention: 'limits',
    discard: 'new',
    storage: 'file',
    max_age: 0,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    max_consumers: -1,
    no_ack: false,
    sealed: false,
    deny_delete: false,
    deny_purge: false,
    allow_atomic: true,
    allow_msg_ttl: true,
    allow_rollup_hdrs: true,
    // Fields of functions that would change, move or share the messages.
    mirror: undefined,
    sources: undefined,
    subject_transform: undefined,
    subject_delete_marker_ttl: undefined,
  };
}

/** Values that mean the same as if the field was absent, or that the server leaves out. */
const ABSENT: readonly unknown[] = [undefined, null, 0, false, ''];

/** Returns what is wrong with a stream, field by field; empty if nothing is. */
export function findStreamFaults(config: Readonly<Record<string, unknown>>, subjects: Subjects): readonly string[] {
  return Object.entries(requiredConfig(subjects)).flatMap(([field, wanted]) => {
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

/** Creates the stream of the cluster; one that exists already must be right. Resolves to true if it was created. */
export async function initClusterStream(
  link: ClusterLink,
  subjects: Subjects,
  size: ClusterStreamSize,
): Promise<boolean> {
  try {
    await checkClusterStream(link, subjects);
    return false;
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code !== 'absent') throw cause;
  }
  const { replicas, bytesMax } = size;
  const config = { ...requiredConfig(subjects), name: subjects.stream, num_replicas: replicas, max_bytes: bytesMax };
  await link.ask(`STREAM.CREATE.${subjects.stream}`, config);
  await checkClusterStream(link, subjects);
  return true;
}

/** Rejects with code `absent` if there is no stream, and with `broken` if it is not as it must be. */
export async function checkClusterStream(link: ClusterLink, subjects: Subjects): Promise<ClusterStreamState> {
  const { stream } = subjects;
  let info: Readonly<Record<string, unknown>>;
  try {
    info = await link.ask(`STREAM.INFO.${stream}`);
  } catch (cause) {
    if (!(cause instanceof ApiRefusal) || cause.apiCode !== NO_STREAM) throw cause;
    throw new StoreError('absent', `The cluster has no stream ${stream}`, {
      disposition: 'operator',
      hint: 'Create it with router-exporter cluster init',
    });
  }
  const config = Object(info['config']) as Readonly<Record<string, unknown>>;
  const faults = findStreamFaults(config, subjects);
  if (faults.length > 0) {
    throw new StoreError('broken', `The stream ${stream} is not as the cluster needs it: ${faults.join('; ')}`, {
      disposition: 'operator',
      hint: 'Change these fields of the stream, or let router-exporter cluster init make another one',
    });
  }
  return readStreamState(info);
}

/** Reads size and last message of the answer to a request for the stream. */
export function readStreamState(info: Readonly<Record<string, unknown>>): ClusterStreamState {
  const number = (of: unknown, field: string): number => {
    const value: unknown = typeof of === 'object' && of !== null ? Reflect.get(of, field) : undefined;
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

/** What records leave free of the stream. Bytes. */
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
