import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { connect as connectToNats, type NodeConnectionOptions } from '@nats-io/transport-node';
import { vi } from 'vitest';
import { startProgram } from '../child.ts';
import { findFreePort } from '../free-port.ts';
import { pauseProcess } from '../pause-process.ts';

/** A message as a stream has stored it. */
interface StoredMessage {
  readonly subject: string;
  readonly id: string;
  readonly text: string;
  /** Id of the atomic batch that it came with; empty without one. */
  readonly batch: string;
}

export interface NatsServer extends AsyncDisposable {
  /** `nats://host:port`, or `tls://host:port` with certificates. */
  readonly url: string;
  readonly port: number;
  /** What the server has written about itself since it was started last. */
  readonly log: string;
  addStream(config: Partial<StreamConfig> & { readonly name: string }): Promise<void>;
  readConfig(stream: string): Promise<StreamConfig>;
  updateStream(name: string, config: Partial<StreamConfig>): Promise<void>;
  purge(stream: string, filter?: string): Promise<void>;
  /** Publishes messages of so many bytes until the server refuses one. */
  fill(subject: string, bytes: number): Promise<void>;
  removeStream(name: string): Promise<void>;
  /** Everything that a stream holds, in its order. */
  read(stream: string): Promise<readonly StoredMessage[]>;
  /** As a power cut of the process: nothing is finished. */
  kill(): Promise<void>;
  /** Stops it from answering, with connections left open; resolves once it is stopped. */
  pause(): Promise<void>;
  resume(): void;
  start(): Promise<void>;
}

export interface NatsServerOptions {
  /** Lines of its configuration file, beside port and store. */
  readonly config?: string | undefined;
  /** Files beside the configuration, which it may name. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** How the test itself connects. */
  readonly admin?: NodeConnectionOptions | undefined;
  readonly isTls?: boolean | undefined;
  /** Default true. */
  readonly hasJetStream?: boolean | undefined;
  /** Folder of its streams. Default: one of its own. */
  readonly storePath?: string | undefined;
  /** What all streams together may take, as nats-server writes it. Default 256MB. */
  readonly fileMax?: string | undefined;
}

/** A real nats-server with JetStream, in a folder of its own. */
export async function openNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const { config = '', files = {}, admin = {}, isTls = false, hasJetStream = true, fileMax = '256MB' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-nats-'));
  const port = await findFreePort();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const file = join(folder, 'nats.conf');
  const { storePath = join(folder, 'store') } = options;
  const store = hasJetStream ? `jetstream { store_dir: "${storePath}", max_file: ${fileMax}, max_mem: 64MB }` : '';
  writeFileSync(file, `listen: "127.0.0.1:${port}"\n${store}\n${config.replaceAll('FOLDER', folder)}\n`);

  const launch = async () => {
    const program = startProgram('nats-server', ['-c', file]);
    await program.waitFor('stderr', /Server is ready/);
    await vi.waitFor(() => reach(port), { timeout: 20_000, interval: 20 });
    return program;
  };
  let program = await launch();

  const manage = async <T>(work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> => {
    const connection = await connectToNats({ servers: [`127.0.0.1:${port}`], reconnect: false, ...admin });
    try {
      return await work(await jetstreamManager(connection));
    } finally {
      await connection.close();
    }
  };
  return {
    url: `${isTls ? 'tls' : 'nats'}://127.0.0.1:${port}`,
    port,
    get log() {
      return program.stderr;
    },
    addStream: (own) => manage(async (manager) => void (await manager.streams.add(own))),
    updateStream: (name, own) => manage(async (manager) => void (await manager.streams.update(name, own))),
    readConfig: (stream) => manage(async (manager) => (await manager.streams.info(stream)).config),
    removeStream: (name) => manage(async (manager) => void (await manager.streams.delete(name))),
    purge: (stream, filter) =>
      manage(
        async (manager) => void (await manager.streams.purge(stream, filter === undefined ? undefined : { filter })),
      ),
    fill: (subject, bytes) =>
      manage(async (manager) => {
        const payload = new Uint8Array(bytes);
        for (let isFull = false; !isFull; ) {
          isFull = await manager
            .jetstream()
            .publish(subject, payload)
            .then(
              () => false,
              () => true,
            );
        }
      }),
    read: (stream) =>
      manage(async (manager) => {
        const { state } = await manager.streams.info(stream);
        const stored: StoredMessage[] = [];
        if (state.messages === 0) return stored;
        const consumer = await manager.jetstream().consumers.get(stream);
        for await (const message of await consumer.fetch({ max_messages: state.messages })) {
          const { subject, headers } = message;
          const [id, batch] = ['Nats-Msg-Id', 'Nats-Batch-Id'].map((name) => headers?.get(name) ?? '');
          stored.push({ subject, id: id ?? '', text: message.string(), batch: batch ?? '' });
        }
        return stored;
      }),
    async kill() {
      program.process.kill('SIGKILL');
      await program.ended;
    },
    pause: () => pauseProcess(program.process),
    resume: () => void program.process.kill('SIGCONT'),
    async start() {
      program = await launch();
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when something listens there. */
function reach(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}
