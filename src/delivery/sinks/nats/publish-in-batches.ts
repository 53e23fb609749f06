import { DeliveryError } from '../../errors.ts';
import type { AtomicBatches } from './atomic-batches.ts';
import type { NatsMessage } from './message.ts';
import { type PublishOutcome, publishBySubject } from './publish-by-subject.ts';
import type { NatsPublisher } from './publisher.ts';

/** Results of messages that were published in batches. */
export interface BatchesOutcome extends PublishOutcome {
  /** True when a part of them had to be published one by one, or may have to be. */
  readonly isPartial: boolean;
}

/**
 * Publishes messages in batches, but for those of a subject that is known to be at fault, which would end each batch.
 * From the first message on that a batch did not contain, the rest is published one by one: this shows which message
 * the server rejects, and why, counts repeats, and delivers the others.
 */
export async function publishInBatches(
  messages: readonly NatsMessage[],
  batches: AtomicBatches,
  publisher: NatsPublisher,
  isOver: () => boolean,
): Promise<BatchesOutcome> {
  const refused: { index: number; error: DeliveryError }[] = [];
  const indexes: number[] = [];
  const apart: number[] = [];
  for (const [index, message] of messages.entries()) {
    const error = publisher.findRefusal(message);
    if (error) refused.push({ index, error });
    else (publisher.subjects.has(message.subject) ? apart : indexes).push(index);
  }
  const waiting = indexes.flatMap((index) => messages[index] ?? []);
  let [accepted, bytes] = [0, 0];
  let stream: string | undefined;
  try {
    while (accepted < waiting.length - 1 && !isOver()) {
      const batch = cutBatch(waiting, accepted, batches, publisher);
      if (batch.length < 2) break;
      const result = await batches.publish(batch);
      bytes += batch.slice(0, result.taken).reduce((sum, message) => sum + publisher.measure(message), 0);
      for (const { subject } of batch.slice(0, result.taken)) publisher.subjects.noteAcknowledged(subject);
      accepted += result.taken;
      stream ??= result.stream;
      if (result.taken < batch.length) break;
    }
  } catch (failure) {
    if (!(failure instanceof DeliveryError)) throw failure;
    return {
      accepted,
      duplicates: 0,
      bytes,
      stream,
      refused,
      failed: [...indexes.slice(accepted), ...apart].toSorted((a, b) => a - b),
      failure,
      isPartial: true,
    };
  }
  const left = [...indexes.slice(accepted), ...apart];
  const rest = await publishBySubject(
    left.flatMap((index) => messages[index] ?? []),
    publisher,
    isOver,
  );
  const toIndex = (index: number) => left[index] ?? 0;
  return {
    accepted: accepted + rest.accepted,
    duplicates: rest.duplicates,
    bytes: bytes + rest.bytes,
    stream: stream ?? rest.stream,
    refused: [...refused, ...rest.refused.map(({ index, error }) => ({ index: toIndex(index), error }))],
    failed: rest.failed.map(toIndex).toSorted((a, b) => a - b),
    failure: rest.failure,
    isPartial: accepted < waiting.length - 1,
  };
}

/** Returns the messages from `start` on that fit into one batch; the first one always does. */
function cutBatch(
  messages: readonly NatsMessage[],
  start: number,
  { messagesMax, bytesMax }: AtomicBatches,
  publisher: NatsPublisher,
): readonly NatsMessage[] {
  let end = start;
  let bytes = 0;
  for (const message of messages.slice(start, start + messagesMax)) {
    bytes += publisher.measure(message);
    if (bytes > bytesMax && end > start) break;
    end++;
  }
  return messages.slice(start, end);
}
