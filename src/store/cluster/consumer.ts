import type { Consumer, ConsumerInfo } from '@nats-io/jetstream';
import type { ClusterLink } from './link.ts';

/** The messages that a consumer gives. */
export interface ConsumerChoice {
  /** Name of the stream. */
  readonly stream: string;
  /** Number of the first message. */
  readonly from: number;
  /** Subjects of the messages. Default: all. */
  readonly subjects?: readonly string[] | undefined;
  /** True if the messages come without their contents. Default false. */
  readonly hasHeadersOnly?: boolean | undefined;
  /** The server removes the consumer when nobody has asked it for this long. Milliseconds. */
  readonly unusedMs: number;
}

/**
 * Reads messages with a consumer in the memory of one server, which is removed afterwards; `pending`: messages that it has. An ordered
 * consumer of the client library would wait until its server is back, although the others have the messages as well.
 */
export async function withConsumer(
  link: ClusterLink,
  { stream, from, subjects, hasHeadersOnly, unusedMs }: ConsumerChoice,
  work: (consumer: Consumer, pending: number) => Promise<void>,
): Promise<void> {
  const connection = await link.ready();
  const { nats } = link;
  if (!nats) return;
  const created = await link.ask(`CONSUMER.CREATE.${stream}`, {
    stream_name: stream,
    config: {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: from,
      filter_subjects: subjects,
      headers_only: hasHeadersOnly,
      ack_policy: 'none',
      max_deliver: 1,
      num_replicas: 1,
      mem_storage: true,
      inactive_threshold: unusedMs * 1e6,
    },
  });
  const info = created as unknown as ConsumerInfo;
  try {
    await work(nats.jetstream(connection).consumers.getConsumerFromInfo(info), info.num_pending);
  } finally {
    // It would also end by itself.
    link.ask(`CONSUMER.DELETE.${stream}.${info.name}`).catch(() => {});
  }
}
