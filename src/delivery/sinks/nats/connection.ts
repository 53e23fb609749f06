import type { NatsConnection } from '@nats-io/transport-node';
import { connectToNats, NatsError, type NatsLibrary, type NatsServers } from '../../../net/index.ts';
import { toNatsError } from './errors.ts';

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
