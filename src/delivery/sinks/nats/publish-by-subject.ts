import { DeliveryError } from '../../errors.ts';
import type { NatsMessage } from './message.ts';
import type { NatsPublisher } from './publisher.ts';

/** Maximum number of subjects to publish to at the same time. */
const SUBJECTS_MAX = 64;

/** Results of messages, by index. */
export interface PublishOutcome {
  /** Number of accepted messages. */
  readonly accepted: number;
  /** Number of accepted messages that the stream is known to have had already. */
  readonly duplicates: number;
  /** Size of the accepted messages, including headers. Bytes. */
  readonly bytes: number;
  /** Stream that accepted them; absent when none did. */
  readonly stream?: string | undefined;
  /** Messages that the server rejected, by index. */
  readonly refused: readonly { readonly index: number; readonly error: DeliveryError }[];
  /** Messages that were not published, or whose fate is unknown; in ascending order. */
  readonly failed: readonly number[];
  /** Error of the first failure; absent when nothing failed. */
  readonly failure?: DeliveryError | undefined;
}

/**
 * Publishes messages: those of one subject sequentially, to keep their order, and several subjects in parallel. A
 * subject stops at its first failure; all subjects stop when `isOver` returns true. What concerns one subject alone
 * refuses all of its messages.
 */
export async function publishBySubject(
  messages: readonly NatsMessage[],
  publisher: Pick<NatsPublisher, 'publish' | 'subjects'>,
  isOver: () => boolean,
): Promise<PublishOutcome> {
  let [accepted, duplicates, bytes] = [0, 0, 0];
  let stream: string | undefined;
  const refused: { index: number; error: DeliveryError }[] = [];
  const failed: number[] = [];
  let failure: DeliveryError | undefined;
  const stopped: { readonly subject: string; readonly indexes: readonly number[]; readonly error: DeliveryError }[] =
    [];

  const publishSubject = async (indexes: readonly number[], texts: readonly NatsMessage[]) => {
    for (const [position, message] of texts.entries()) {
      const index = indexes[position] ?? 0;
      const rest = () => indexes.slice(position);
      try {
        if (isOver()) return void failed.push(...rest());
        const ack = await publisher.publish(message);
        publisher.subjects.noteAcknowledged(message.subject);
        accepted++;
        bytes += ack.bytes;
        if (ack.isDuplicate) duplicates++;
        stream ??= ack.stream;
      } catch (cause) {
        if (!(cause instanceof DeliveryError)) throw cause;
        if (cause.disposition === 'dead-letter') {
          refused.push({ index, error: cause });
          continue;
        }
        return void stopped.push({ subject: message.subject, indexes: rest(), error: cause });
      }
    }
  };

  const lanes = [...Map.groupBy(messages.entries(), ([, { subject }]) => subject).values()];
  const waiting = lanes.values();
  const work = async () => {
    for (const lane of waiting) {
      await publishSubject(
        lane.map(([index]) => index),
        lane.map(([, message]) => message),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(SUBJECTS_MAX, lanes.length) }, work));
  // Only now is it known what became of the others.
  for (const { subject, indexes, error } of stopped) {
    if (await publisher.subjects.isOwn(subject, error)) refused.push(...indexes.map((index) => ({ index, error })));
    else {
      failure ??= error;
      failed.push(...indexes);
    }
  }
  failed.sort((a, b) => a - b);
  return { accepted, duplicates, bytes, stream, refused, failed, failure };
}
