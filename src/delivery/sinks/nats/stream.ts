import { createHash } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Disposition } from '../../../base/index.ts';
import type { LogRecord } from '../../../model/index.ts';
import {
  connectToNats,
  NatsError,
  type NatsLibrary,
  type NatsServers,
  toNatsError as toConnectionError,
} from '../../../net/index.ts';
import { DeliveryError, type DeliveryFailure } from '../../errors.ts';

/** Default duplicate window of a stream. Milliseconds. */
export const DUPLICATE_WINDOW_MS = 2 * 60_000;

/** True when records below a prefix can be published in atomic batches. A batch goes to one stream, so it must store all subjects. */
export function takesBatches({ subjects, hasAtomicBatches }: NatsStream, prefix: string): boolean {
  return hasAtomicBatches && subjects.some((pattern) => isCovering(pattern, prefix));
}

/** Time limit of a request. Milliseconds. */
const ASK_MS_MAX = 5000;
const NS_PER_MS = 1_000_000;

function openManager(nats: NatsLibrary, connection: NatsConnection) {
  return nats.jetstreamManager(connection, { checkAPI: false, timeout: ASK_MS_MAX });
}

/** Returns the name of the stream that stores a subject. Throws the library's errors. */
export async function findStream(nats: NatsLibrary, connection: NatsConnection, subject: string): Promise<string> {
  return await (await openManager(nats, connection)).streams.find(subject);
}

/** Resolves to true if a stream stores a subject, with a leader or without. Throws the library's errors. */
export async function hasStream(nats: NatsLibrary, connection: NatsConnection, subject: string): Promise<boolean> {
  const { streams } = await openManager(nats, connection);
  for await (const _ of streams.names(subject)) return true;
  return false;
}

/** The settings of a stream. */
export type NatsStream = Awaited<ReturnType<typeof readStream>>;

/** Requests the settings of a stream. Throws the library's errors. */
export async function readStream(nats: NatsLibrary, connection: NatsConnection, name: string) {
  const { config } = await (await openManager(nats, connection)).streams.info(name);
  return {
    name,
    subjects: config.subjects ?? [],
    duplicateWindowMs: config.duplicate_window ? config.duplicate_window / NS_PER_MS : DUPLICATE_WINDOW_MS,
    /** Maximum size of a message; `undefined` = no limit. */
    messageBytesMax: config.max_msg_size > 0 ? config.max_msg_size : undefined,
    storage: config.storage,
    discard: config.discard,
    /** True when the stream sends no acknowledgements. */
    isSilent: config.no_ack === true,
    /** True when the stream accepts atomic batches (nats-server 2.12). */
    hasAtomicBatches: config.allow_atomic === true,
  };
}

/** Router label used in the subject. */
const SITE_LABEL = 'site';
/** Token of routers without the label. */
const NO_SITE = 'none';
/** Token of a site whose name is that of {@link NO_SITE}. */
const SITE_NAMED_NONE = '%6Eone';
/** Token of an empty name. No other name has it: behind a "%" of theirs there are always two signs. */
const EMPTY = '%';
/** Names that are tokens as they are. */
const USUAL = /^[A-Za-z0-9_-]{1,128}$/;
/** Maximum length of a token. Servers accept a line of 4096 bytes, in which the subject may stand with its reply. Characters. */
const TOKEN_MAX = 200;
/** Length kept of a longer token, before {@link CUT_MARK} and the hash of the name. Characters. */
const TOKEN_KEPT = 128;
/** Marks a shortened token; no other token contains it. */
const CUT_MARK = '%~';

/**
 * Returns the subject of a record: `<prefix>.<site or none>.<router>.<component>`. Different names have different subjects:
 * everything except letters, digits, `_` and `-` is written as `%` and two hexadecimal digits for each byte in UTF-8.
 */
export function toNatsSubject(prefix: string, { router, component, labels = {} }: LogRecord): string {
  const site = labels[SITE_LABEL];
  return `${prefix}.${site ? toSiteToken(site) : NO_SITE}.${toSubjectToken(router)}.${toSubjectToken(component)}`;
}

/** True when a stream with this subject, which may contain wildcards, covers every subject below the prefix. */
export function isCovering(streamSubject: string, prefix: string): boolean {
  const wanted = [...prefix.split('.'), '*', '*', '*'];
  const offered = streamSubject.split('.');
  for (const [index, token] of offered.entries()) {
    if (token === '>') return index < wanted.length;
    if (token !== '*' && token !== wanted[index]) return false;
  }
  return offered.length === wanted.length;
}

function toSiteToken(site: string): string {
  return site === NO_SITE ? SITE_NAMED_NONE : toSubjectToken(site);
}

function toSubjectToken(name: string): string {
  if (USUAL.test(name)) return name;
  if (name === '') return EMPTY;
  const token = name.replaceAll(/[^A-Za-z0-9_-]/gu, toEscapes);
  if (token.length <= TOKEN_MAX) return token;
  // As UTF-16, which keeps apart what UTF-8 cannot write.
  const hash = createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('base64url');
  return `${token.slice(0, TOKEN_KEPT)}${CUT_MARK}${hash}`;
}

function toEscapes(sign: string): string {
  // Half of a surrogate pair has no form in UTF-8.
  if (!sign.isWellFormed()) return `%u${sign.charCodeAt(0).toString(16)}`;
  return Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** Servers of a cluster, and how the sink `name` proves who it is. */
export interface SinkServers extends Omit<NatsServers, 'who' | 'peer'> {
  /** Name of the sink. */
  readonly name: string;
}

/** Connects the sink to the first server that accepts it. Throws {@link DeliveryError}. */
export async function connectSink(
  nats: NatsLibrary,
  { name, ...servers }: SinkServers,
  signal: AbortSignal,
): Promise<NatsConnection> {
  const who = `Sink ${name}`;
  try {
    return await connectToNats(nats, { ...servers, who, peer: 'sink' }, signal);
  } catch (cause) {
    throw cause instanceof NatsError ? toNatsError(nats, `${who} could not connect`, cause) : cause;
  }
}

/** The `answer` of the error when a subject is full, and not its stream, which gives both the same code. */
export const SUBJECT_FULL = 'max_msgs_per_subject';
const STREAM_FULL = 10_077;
/** Text of the error of a stream with `discard_new_per_subject` (nats-server, server/store.go). */
const SUBJECT_FULL_TEXT = 'maximum messages per subject exceeded';

/** Error codes of the JetStream API (nats-server, server/errors.json): their meaning, and advice. */
const API_CODES: ReadonlyMap<number, readonly [DeliveryFailure, Disposition, string?]> = new Map([
  // A stream with `discard: new` has reached a limit.
  [STREAM_FULL, ['throttled', 'hold-back', 'The stream is full: raise its limits, or wait for its consumers']],
  [10_023, ['throttled', 'hold-back', 'The NATS server has no resources left']],
  [10_028, ['throttled', 'hold-back', 'The account has no memory left for JetStream']],
  [10_047, ['throttled', 'hold-back', 'The NATS server has no storage left']],
  [10_053, ['too_large', 'dead-letter']],
  [10_054, ['too_large', 'dead-letter']],
  [10_060, ['misconfigured', 'operator', 'Check subject and stream of this sink: another stream stores the subject']],
  [10_039, ['misconfigured', 'operator', 'Enable JetStream for the account of this sink']],
]);

/** Converts an error of the client library to a {@link DeliveryError}; `what` names the failed action. */
export function toNatsError(nats: NatsLibrary, what: string, thrown: unknown): DeliveryError {
  if (thrown instanceof DeliveryError) return thrown;
  const { code, message, disposition, hint, apiCode } = toConnectionError(nats, what, thrown, 'sink');
  if (apiCode === STREAM_FULL && message.endsWith(SUBJECT_FULL_TEXT)) {
    const advice = 'The subject is full: raise max_msgs_per_subject of the stream, or wait for its consumers';
    return new DeliveryError('throttled', message, { disposition: 'hold-back', hint: advice, answer: SUBJECT_FULL });
  }
  if (code === 'api') {
    const [failure, meaning, advice] = API_CODES.get(apiCode ?? 0) ?? ['failed', 'retry'];
    return new DeliveryError(failure, message, { disposition: meaning, hint: advice, answer: String(apiCode) });
  }
  if (code === 'no_responders') {
    const advice = 'Check that JetStream is enabled and that a stream stores the subjects of this sink';
    return new DeliveryError('failed', message, { disposition: 'retry', hint: advice, answer: '503' });
  }
  return new DeliveryError(code, message, { disposition, hint });
}
