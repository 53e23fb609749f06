import { DeliveryError } from '../../errors.ts';
import type { NatsAck, NatsMessage } from './publisher.ts';

/** Maximum number of subjects to publish to at the same time. */
const SUBJECTS_MAX = 64;

/** Results of messages, by index. */
export interface PublishOutcome {
  /** Acknowledgements of the accepted messages. */
  readonly acks: readonly NatsAck[];
  /** Messages that the server rejected, by index. */
  readonly refused: readonly { readonly index: number; readonly error: DeliveryError }[];
  /** Messages that were not published, or whose fate is unknown; in ascending order. */
  readonly failed: readonly number[];
  /** Error of the first failure; absent when nothing failed. */
  readonly failure?: DeliveryError | undefined;
}

/**
 * Publishes messages: those of one subject sequentially, to keep their order, and several subjects in parallel. A subject
 * stops at its first failure; all subjects stop when `isOver` returns true.
 */
export async function publishBySubject(
  messages: readonly NatsMessage[],
  publish: (message: NatsMessage) => Promise<NatsAck>,
  isOver: () => boolean,
): Promise<PublishOutcome> {
  const acks: NatsAck[] = [];
  const refused: { index: number; error: DeliveryError }[] = [];
  const failed: number[] = [];
  let failure: DeliveryError | undefined;

  const publishSubject = async (indexes: readonly number[], texts: readonly NatsMessage[]) => {
    for (const [position, message] of texts.entries()) {
      const index = indexes[position] ?? 0;
      try {
        if (isOver()) return void failed.push(...indexes.slice(position));
        acks.push(await publish(message));
      } catch (cause) {
        if (!(cause instanceof DeliveryError)) throw cause;
        if (cause.disposition === 'dead-letter') {
          refused.push({ index, error: cause });
          continue;
        }
        failure ??= cause;
        return void failed.push(...indexes.slice(position));
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
  return { acks, refused, failed: failed.toSorted((a, b) => a - b), failure };
}
