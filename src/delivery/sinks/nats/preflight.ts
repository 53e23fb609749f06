import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, renderDuration, untilAborted } from '../../../base/index.ts';
import type { NatsLibrary } from '../../../net/index.ts';
import type { PreflightFinding } from '../../contracts.ts';
import { createTestRecord, toFailedFinding } from '../../preflight.ts';
import { NatsMessage, NatsPublisher } from './publish.ts';
import {
  connectSink,
  DUPLICATE_WINDOW_MS,
  findStream,
  isCovering,
  type NatsStream,
  readStream,
  type SinkServers,
  takesBatches,
  toNatsError,
  toNatsSubject,
} from './stream.ts';

/** The stream that is tried. */
interface NatsTarget extends SinkServers {
  /** Time limit of one request. Milliseconds. */
  readonly timeoutMs: number;
  /** Prefix of the subjects. */
  readonly subject: string;
  /** Name of the expected stream; absent = any. */
  readonly stream?: string | undefined;
  readonly clock: Clock;
}

/** Checks, over a separate connection, whether a stream accepts the records and how it is configured. */
export async function checkNatsStream(
  nats: NatsLibrary,
  target: NatsTarget,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const findings: PreflightFinding[] = [];
  let connection: NatsConnection;
  try {
    connection = await connectSink(nats, target, signal);
  } catch (cause) {
    signal.throwIfAborted();
    return [toFailedFinding('connect', cause)];
  }
  try {
    const { version = '?', max_payload: bytesMax = 0 } = connection.info ?? {};
    const connected = `${connection.getServer()}, version ${version}, accepts the agent and messages of up to ${bytesMax} bytes`;
    findings.push({ step: 'connect', verdict: 'ok', message: connected });
    findings.push(...(await untilAborted(checkStream(nats, connection, target), signal)));
    findings.push(await untilAborted(publishTestRecord(nats, connection, target), signal));
  } finally {
    connection.close().catch(() => {});
  }
  return findings;
}

async function checkStream(
  nats: NatsLibrary,
  connection: NatsConnection,
  target: NatsTarget,
): Promise<readonly PreflightFinding[]> {
  const subject = toNatsSubject(target.subject, createTestRecord(target.clock).fields);
  try {
    const name = await findStream(nats, connection, subject);
    if (target.stream !== undefined && target.stream !== name) {
      const message = `The stream ${name} stores ${subject}, not ${target.stream}`;
      return [{ step: 'stream', verdict: 'failed', message, hint: 'Check subject and stream of this sink' }];
    }
    return judgeStream(await readStream(nats, connection, name), target);
  } catch (cause) {
    if (cause instanceof nats.JetStreamApiError) {
      const hint = `Create a stream with the subject ${target.subject}.>`;
      return [{ step: 'stream', verdict: 'failed', message: `No stream stores ${subject}`, hint }];
    }
    const error = toNatsError(nats, 'Could not read the streams', cause);
    return [{ ...toFailedFinding('stream', error), verdict: 'warning' }];
  }
}

function judgeStream(stream: NatsStream, { subject }: NatsTarget): PreflightFinding[] {
  const { name, duplicateWindowMs, messageBytesMax, storage, discard, isSilent, subjects } = stream;
  const findings: PreflightFinding[] = [];
  /** `hint`: absent when all is well. */
  const add = (step: string, message: string, hint: string | undefined) =>
    findings.push({ step, verdict: hint === undefined ? 'ok' : 'warning', message, hint });
  if (subjects.some((pattern) => isCovering(pattern, subject))) {
    add('stream', `${name} stores ${subject}.>`, undefined);
  } else {
    const message = `${name} stores ${subjects.join(', ')}, which does not cover ${subject}.>`;
    add('stream', message, `Add ${subject}.> to the subjects of the stream`);
  }
  const isShort = duplicateWindowMs < DUPLICATE_WINDOW_MS;
  add(
    'duplicate window',
    `${name} detects duplicates within ${renderDuration(duplicateWindowMs)}; after longer outages records may be stored twice`,
    isShort ? 'Set the duplicate window of the stream to several minutes' : undefined,
  );
  add(
    'storage',
    `${name} keeps messages in ${storage}${discard === 'old' ? ', and discards the oldest when it is full' : ''}`,
    storage === 'file' ? undefined : 'Use a stream with file storage: a restart of the server empties this one',
  );
  findings.push(describeMode(stream, subject));
  if (messageBytesMax !== undefined) {
    const message = `${name} refuses messages of more than ${messageBytesMax} bytes: larger records become dead letters`;
    add('message size', message, 'Raise max_msg_size of the stream');
  }
  if (isSilent) {
    const message = `${name} sends no acknowledgements, so no record would count as delivered`;
    findings.push({ step: 'acknowledgement', verdict: 'failed', message, hint: 'Set no_ack of the stream to false' });
  }
  return findings;
}

/** Describes how records are published, and what would make it faster. */
function describeMode(stream: NatsStream, subject: string): PreflightFinding {
  const finding = { step: 'publishing', verdict: 'ok' } as const;
  if (takesBatches(stream, subject)) return { ...finding, message: `${stream.name} takes records in atomic batches` };
  const message = `${stream.name} takes one record of each log at a time, which is slow over a long line`;
  const hint = 'Set allow_atomic (nats-server 2.12 or later) of a stream that stores all subjects of this sink';
  return { ...finding, message, hint };
}

async function publishTestRecord(
  nats: NatsLibrary,
  connection: NatsConnection,
  { name, subject, stream, timeoutMs, clock }: NatsTarget,
): Promise<PreflightFinding> {
  const step = 'test record';
  const message = new NatsMessage(createTestRecord(clock), subject, 'native');
  try {
    const publisher = new NatsPublisher(nats, connection, { name, stream, ackMsMax: timeoutMs, clock });
    const ack = await publisher.publish(message);
    return { step, verdict: 'ok', message: `Stream ${ack.stream} stored it under ${message.subject}` };
  } catch (cause) {
    return toFailedFinding(step, cause);
  }
}
