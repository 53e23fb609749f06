import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { unpackLines } from '../../src/base/index.ts';
import { fromToken } from '../../src/cluster/subjects.ts';
import type { LogRecord } from '../../src/model/index.ts';
import type { NatsServer } from './sinks/nats-server.ts';

/** A server of the engine. */
type Engine = Pick<NatsServer, 'url'>;

const STREAM = 'RX_plant';
const AT_ONCE = 2000;
/** Stream of the members and owners, and the subjects of the owners of its routers. */
const BUCKET = 'KV_rx_plant';
const OWNERS = '$KV.rx_plant.owner.';

async function manage<T>(
  { url }: Engine,
  work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: [url], reconnect: false });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** Returns all records in the stream of the cluster `plant`, in its order. */
export function readRecords(server: Engine): Promise<readonly LogRecord[]> {
  return manage(server, async (manager) => {
    const { name } = await manager.consumers.add(STREAM, { filter_subject: 'rx.plant.rec.>', mem_storage: true });
    const consumer = await manager.jetstream().consumers.get(STREAM, name);
    let { num_pending: pending } = await consumer.info();
    const records: LogRecord[] = [];
    while (pending > 0) {
      for await (const message of await consumer.fetch({ max_messages: Math.min(pending, AT_ONCE) })) {
        pending = message.info.pending;
        message.ack();
        const table = unpackLines(message.data);
        for (let index = 0; index < table.length; index++)
          records.push(JSON.parse(table.at(index)?.text ?? '') as LogRecord);
      }
    }
    return records;
  });
}

/** Returns the index of the server that leads a stream; -1 while none does. */
export function findLeader(server: Engine, stream = STREAM): Promise<number> {
  return manage(server, async (manager) => {
    const { cluster } = await manager.streams.info(stream);
    return Number(/^s(\d)$/.exec(cluster?.leader ?? '')?.[1] ?? -1);
  });
}

/** A place of a sink, as the stream has it. */
interface StoredCursor {
  /** Replica that wrote it. */
  readonly owner: string;
  readonly batch: number;
  readonly index: number;
}

/** Places of a sink, as they were stored one after the other. */
export interface CursorWatch extends AsyncDisposable {
  readonly places: readonly StoredCursor[];
}

/** Watches the place of a sink of the cluster `plant`, from the one that it has. */
export async function watchCursor({ url }: Engine, sink: string): Promise<CursorWatch> {
  const connection = await connect({ servers: [url], reconnect: false });
  const consumer = await (await jetstreamManager(connection)).jetstream().consumers.get(STREAM, {
    filter_subjects: [`rx.plant.cur.${sink}`],
  });
  const messages = await consumer.consume();
  const places: StoredCursor[] = [];
  const reading = (async () => {
    for await (const message of messages) {
      const { at } = message.json<{ readonly at: readonly number[] }>();
      const [batch = -1, index = -1] = at;
      places.push({ owner: message.headers?.get('Rx-Owner') ?? '', batch, index });
    }
  })();
  return {
    places,
    async [Symbol.asyncDispose]() {
      messages.stop();
      await reading;
      await connection.close();
    },
  };
}

/** A router that a replica has taken. */
interface TakenRouter {
  readonly router: string;
  readonly replica: string;
  /** When the engine stored it, as `performance.now()` of the test. */
  readonly atMs: number;
}

/** Routers that replicas have taken, in the order of the engine. */
export interface TakenWatch extends AsyncDisposable {
  readonly taken: readonly TakenRouter[];
}

/** The engine runs on this machine, with the same wall clock. */
function toTestMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1000n) / 1000 - (Date.now() - performance.now());
}

/** Watches who takes which router of the cluster `plant`, from the last one of each on. */
export async function watchTaken({ url }: Engine): Promise<TakenWatch> {
  const connection = await connect({ servers: [url], reconnect: false });
  const consumer = await (await jetstreamManager(connection)).jetstream().consumers.get(BUCKET, {
    filter_subjects: [`${OWNERS}>`],
  });
  const messages = await consumer.consume();
  const taken: TakenRouter[] = [];
  const reading = (async () => {
    for await (const message of messages) {
      // One that was let go.
      if (message.data.length === 0) continue;
      const { replica } = message.json<{ readonly replica: string }>();
      const router = fromToken(message.subject.slice(OWNERS.length), '=') ?? message.subject;
      taken.push({ router, replica, atMs: toTestMs(message.timestampNanos) });
    }
  })();
  return {
    taken,
    async [Symbol.asyncDispose]() {
      messages.stop();
      await reading;
      await connection.close();
    },
  };
}
