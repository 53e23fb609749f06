import { renderDuration, untilAborted } from '../../../base/index.ts';
import type { PreflightFinding } from '../../contracts.ts';
import { createTestRecord, toFailedFinding } from '../../preflight.ts';
import { DUPLICATE_WINDOW_MS, NatsMessage, type NatsPublisher, type NatsStream, toDeliveryError } from './publish.ts';

/** Checks, over a separate connection, whether a stream accepts records and how it is configured. */
export async function checkNatsStream(
  publisher: NatsPublisher,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const { connection, options } = publisher;
  const { version = '?', max_payload: bytesMax = 0 } = connection.info ?? {};
  const connected = `${connection.getServer()}, version ${version}, accepts the agent and messages of up to ${bytesMax} bytes`;
  const test = new NatsMessage(createTestRecord(options.clock), options.prefix, 'native');
  return [
    { step: 'connect', verdict: 'ok', message: connected },
    ...(await untilAborted(checkStream(publisher, test.subject), signal)),
    await untilAborted(publishTestRecord(publisher, test), signal),
  ];
}

async function checkStream(publisher: NatsPublisher, subject: string): Promise<readonly PreflightFinding[]> {
  const { nats, options } = publisher;
  const { prefix } = options;
  try {
    const name = await publisher.findStream(subject);
    if (options.stream !== undefined && options.stream !== name) {
      const message = `The stream ${name} stores ${subject}, not ${options.stream}`;
      return [{ step: 'stream', verdict: 'failed', message, hint: 'Check subject and stream of this sink' }];
    }
    return judgeStream(await publisher.readStream(name), prefix);
  } catch (cause) {
    if (cause instanceof nats.JetStreamApiError) {
      const hint = `Create a stream with the subject ${prefix}.>`;
      return [{ step: 'stream', verdict: 'failed', message: `No stream stores ${subject}`, hint }];
    }
    const error = toDeliveryError(nats, 'Could not read the streams', cause);
    return [{ ...toFailedFinding('stream', error), verdict: 'warning' }];
  }
}

function judgeStream(stream: NatsStream, subject: string): PreflightFinding[] {
  const { name, duplicateWindowMs, messageBytesMax, storage, discard, isSilent, subjects } = stream;
  const findings: PreflightFinding[] = [];
  /** `hint`: absent when the check passes. */
  const add = (step: string, message: string, hint: string | undefined) =>
    findings.push({ step, verdict: hint === undefined ? 'ok' : 'warning', message, hint });
  if (stream.isCoveringAll) {
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
  findings.push(describeMode(stream));
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
function describeMode(stream: NatsStream): PreflightFinding {
  const finding = { step: 'publishing', verdict: 'ok' } as const;
  if (stream.takesBatches) return { ...finding, message: `${stream.name} takes records in atomic batches` };
  const message = `${stream.name} takes one record of each log at a time, which is slow over a long line`;
  const hint = 'Set allow_atomic (nats-server 2.12 or later) of a stream that stores all subjects of this sink';
  return { ...finding, message, hint };
}

async function publishTestRecord(publisher: NatsPublisher, message: NatsMessage): Promise<PreflightFinding> {
  const step = 'test record';
  try {
    const ack = await publisher.publish(message);
    return { step, verdict: 'ok', message: `Stream ${ack.stream} stored it under ${message.subject}` };
  } catch (cause) {
    return toFailedFinding(step, cause);
  }
}
