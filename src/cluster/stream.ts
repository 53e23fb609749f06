import { isDeepStrictEqual } from 'node:util';
import { decodeObject, type Timer } from '../base/index.ts';
import { DEAD_LETTERS_BYTES_MAX, RESUME_SHARE, StoreError } from '../model/index.ts';
import { findFormatFault, STREAM_METADATA } from '../net/index.ts';
import { ApiRefusal, ClusterLink, type Engine, toAway, toEngine } from './link.ts';
import { Subjects } from './subjects.ts';

interface ClusterStreamSize {
  /** Number of servers that store each message. */
  readonly replicas: number;
  /** Maximum size of the stream with positions and records. Bytes. */
  readonly bytesMax: number;
  /** Maximum size of all dead letters, as the replicas have it. Bytes; default 64 MiB. */
  readonly deadLettersBytesMax?: number | undefined;
}

export interface ClusterStreamState {
  readonly bytesMax: number;
  readonly bytes: number;
  readonly lastSeq: number;
}

/** Part of the stream that records leave free, so that cursors, which are small, can move and make room. */
const RESERVE_SHARE = 0.05;
const RESERVE_BYTES_MAX = 64 * 1024 * 1024;

/** Size of the dead-letter stream as a multiple of the dead letters' limit: room for subjects, headers and removal markers. */
export const DEAD_LETTERS_ROOM_FACTOR = 1.5;
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
  // Settings that would change, move or share the messages.
  mirror: undefined,
  sources: undefined,
  subject_transform: undefined,
  subject_delete_marker_ttl: undefined,
};

interface RequiredStream {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Any other limit would remove positions; without the other settings no step would be one commit. */
function requireRecords(subjects: Subjects): RequiredStream {
  const own = { max_msgs_per_subject: -1, allow_atomic: true, allow_rollup_hdrs: true };
  return { name: subjects.stream, config: { subjects: [subjects.all], ...COMMON_CONFIG, ...own } };
}

function requireDeadLetters(subjects: Subjects): RequiredStream {
  const config = { subjects: [subjects.deadLetters], ...COMMON_CONFIG, max_msgs_per_subject: 1 };
  return { name: subjects.deadLetterStream, config };
}

const ABSENT: readonly unknown[] = [undefined, null, 0, false, ''];

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

interface ClusterStream {
  readonly name: string;
  /** Description of the content for commands. */
  readonly content: string;
  /** True if it was created now. */
  readonly isNew: boolean;
}

/**
 * Creates the missing streams of a cluster, and changes none. Rejects with `broken`, naming the fields, if one lacks a
 * required setting, and with `unwritable` if no server answers.
 */
export async function initCluster({
  servers,
  cluster,
  replicas,
  bytesMax,
  deadLettersBytesMax = DEAD_LETTERS_BYTES_MAX,
}: ClusterStreamSize & Engine): Promise<readonly ClusterStream[]> {
  const link = new ClusterLink(toEngine({ servers, cluster }));
  const subjects = new Subjects(cluster);
  const deadLettersMax = Math.ceil(deadLettersBytesMax * DEAD_LETTERS_ROOM_FACTOR);
  try {
    const areRecordsNew = await init(link, requireRecords(subjects), replicas, bytesMax);
    const areDeadLettersNew = await init(link, requireDeadLetters(subjects), replicas, deadLettersMax);
    return [
      { name: subjects.stream, content: 'positions and records', isNew: areRecordsNew },
      { name: subjects.deadLetterStream, content: 'dead letters', isNew: areDeadLettersNew },
    ];
  } finally {
    await link.close();
  }
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

/**
 * Checks a stream. Rejects with code `absent` if it is missing, with `format` if it has another format, and with `broken` if
 * it lacks a required setting.
 */
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

/** Reads size and last message from the answer to a request for the stream. */
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

function reserveOf({ bytesMax }: Pick<ClusterStreamState, 'bytesMax'>): number {
  return Math.min(bytesMax * RESERVE_SHARE, RESERVE_BYTES_MAX);
}

interface StreamWatchOptions {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  /** Called with the state of the dead-letter stream when both streams have the required settings. */
  readonly onReady: (deadLetters: ClusterStreamState) => void;
  /** Called when they do not, once for each reason. */
  readonly onFault: (fault: StoreError) => void;
  /** Called with each answer about size and last message. */
  readonly onState: (state: ClusterStreamState) => void;
}

const SIZE_MS = 2000;
/** Delivered records are no longer kept when less than this many times the reserve is free. */
const TIGHT_FACTOR = 2;

/** Checks the settings of the cluster's streams, and how full the record stream is. */
export class StreamWatch {
  readonly #options: StreamWatchOptions;
  #state: ClusterStreamState | undefined;
  #fault: StoreError | undefined;
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: StreamWatchOptions) {
    this.#options = options;
  }

  get state(): ClusterStreamState | undefined {
    return this.#state;
  }

  get bytesMax(): number {
    return this.#state?.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  get freeBytes(): number {
    return this.bytesMax - (this.#state?.bytes ?? 0);
  }

  /** True while there is hardly any room for records, or less than suspended logs need to resume. */
  get isTight(): boolean {
    return this.freeBytes < Math.max(TIGHT_FACTOR * reserveOf(this), RESUME_SHARE * this.bytesMax);
  }

  /** Checks the stream periodically, until closed. */
  begin(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.link.clock.setTimer(SIZE_MS, () => {
      void this.look().finally(() => this.begin());
    });
  }

  /** Starts the check of a new connection. */
  onConnected(): void {
    this.#checking = this.#check();
  }

  /** Resolves when the check of the last connection has ended. Rejects with its fault. */
  async whenChecked(): Promise<void> {
    await this.#checking;
    if (this.#fault) throw this.#fault;
  }

  /** Adds what this replica has stored since the last answer. */
  addBytes(bytes: number): void {
    if (this.#state) this.#state = { ...this.#state, bytes: this.#state.bytes + bytes };
  }

  /** Throws if `bytes` of records would take the space reserved for cursors. */
  checkRoom(bytes: number): void {
    if (!this.#state) return;
    const { bytes: used, bytesMax } = this.#state;
    if (bytesMax - used - bytes >= reserveOf(this)) return;
    throw new StoreError('full', `The stream of the cluster has ${used} of ${bytesMax} bytes`, {
      disposition: 'hold-back',
      hint: 'Check the sinks: records leave the stream once every sink has them. Or raise max_bytes of the stream',
    });
  }

  /** Throws the known reason why nothing can be written. A full stream still has room for cursors. */
  checkWritable(): void {
    const { link } = this.#options;
    if (this.#fault) throw this.#fault;
    if (!link.connection) throw toAway(link.fault);
  }

  /** Requests the size of the stream and checks its settings; repeats a failed check of both streams. */
  async look(): Promise<void> {
    const { link, subjects, onState } = this.#options;
    if (!link.connection) return;
    if (!this.#state || this.#fault) {
      await this.#check();
      return;
    }
    try {
      this.#state = await check(link, requireRecords(subjects));
      onState(this.#state);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      // The stream was removed or changed. Any other error means that the engine is away, which the link reports.
      if (cause.disposition === 'operator') this.#reportFault(cause);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #check(): Promise<void> {
    const { link, subjects, onReady, onState } = this.#options;
    try {
      const [state, deadLetters] = await Promise.all([
        check(link, requireRecords(subjects)),
        check(link, requireDeadLetters(subjects)),
      ]);
      this.#state = state;
      this.#fault = undefined;
      onState(state);
      onReady(deadLetters);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#reportFault(cause);
    }
  }

  #reportFault(fault: StoreError): void {
    if (this.#isClosed) return;
    const isNew = this.#fault?.message !== fault.message;
    this.#fault = fault;
    if (isNew) this.#options.onFault(fault);
  }
}
