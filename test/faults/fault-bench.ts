import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, type Program, startProgram } from '../support/child.ts';

/** A document as the receiver keeps it: its id, and how often it came. */
interface Stored {
  readonly ids: Set<string>;
  times: number;
}

/** What the whole agent is tried against: simulated routers that write without pause, and a receiver with a key. */
export interface FaultBench extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly routers: readonly SimulatedRouter[];
  readonly receiver: KeyedReceiver;
  /** Folder of the configuration; the state is in `data` within it, unless another was given. */
  readonly folder: string;
  readonly configFile: string;
  /** Starts the agent in a process of its own and waits until it has started; `around` is a command that runs it. */
  startAgent(around?: readonly string[], env?: NodeJS.ProcessEnv): Promise<RunningAgent>;
  /** Writes so many numbered lines to the logs of each router at once. */
  write(count: number): void;
  /** Writes lines as time passes, until the function that it returns is called. */
  keepWriting(): () => void;
  /** Waits until the receiver has every line that was written, and checks that it has none twice. */
  expectComplete(): Promise<void>;
}

/** The agent, running. */
export interface RunningAgent extends Program {
  /** Base address of its web server. */
  readonly url: string;
  /** Its metrics; empty when they cannot be read. */
  readMetrics(): Promise<string>;
}

/** Settings that differ between tests. */
export interface FaultBenchOptions {
  readonly routers?: number;
  /** Folder of the state. Default: `data` next to the configuration. */
  readonly storagePath?: string;
  /** Size at which a log is rotated. Default 16 KiB, five seconds of {@link FaultBench.keepWriting}. Bytes. */
  readonly fileBytes?: number;
  /** How far the clocks of the routers are behind at the start. Default 0. Milliseconds. */
  readonly behindMs?: number;
  /** Host in the URLs of routers and receiver. Default `127.0.0.1`. */
  readonly host?: string;
}

const COMPONENTS = ['network', 'system'] as const;
const WRITE_EVERY_MS = 20;
/** Longest time until everything has arrived, on a machine that is busy. Milliseconds. */
const COMPLETE_MS_MAX = 90_000;
/** Of this many records the receiver refuses one, so that there are dead letters. */
const REFUSED_EVERY = 10;
const LINE = /numbered line (\d+) of [\w/-]+/;

/** Outcome of a request: nothing was kept, all was kept without an answer, or it was answered. */
export type Moment = 'unread' | 'stored' | 'answered';

/** Keeps documents by their id, as Elasticsearch does, and rejects every tenth for good if configured to. */
class KeyedReceiver implements AsyncDisposable {
  /** By the text of the line. */
  readonly stored = new Map<string, Stored>();
  /** Texts of lines that it refused for good. */
  readonly refused = new Set<string>();
  refuses = false;
  #watched: { left: number; readonly moment: Moment; readonly resolve: () => void } | undefined;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves once so many more documents have come, at this moment of the request that brings the last of them. */
  untilArrived(count: number, moment: Moment = 'answered'): Promise<void> {
    return new Promise((resolve) => {
      this.#watched = { left: count, moment, resolve };
    });
  }

  /** Ends the connections that are open. */
  disconnect(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close().closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    // Who sent it may be killed in the middle.
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    response.on('error', () => {});
    const lines = Buffer.concat(chunks).toString().split('\n');
    const watched = this.#watched;
    if (watched) watched.left -= Math.floor(lines.length / 2);
    const isMoment = watched !== undefined && watched.left <= 0;
    if (isMoment) {
      this.#watched = undefined;
      watched.resolve();
      if (watched.moment === 'unread') return;
    }
    const items: unknown[] = [];
    for (let index = 0; index + 1 < lines.length; index += 2) {
      const { create } = JSON.parse(lines[index] ?? '') as { readonly create: Readonly<Record<string, string>> };
      items.push({ create: this.#store(create['_id'] ?? '', lines[index + 1] ?? '') });
    }
    if (isMoment && watched.moment === 'stored') return;
    const errors = items.some((item) => JSON.stringify(item).includes('error'));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ errors, items }));
  }

  #store(id: string, document: string): object {
    const [text, number] = LINE.exec(document) ?? [];
    if (text === undefined) return { status: 201 };
    if (this.refuses && Number(number) % REFUSED_EVERY === 0) {
      this.refused.add(text);
      return { status: 400, error: { type: 'mapper_parsing_exception', reason: 'refused by the test' } };
    }
    const known = this.stored.get(text) ?? { ids: new Set<string>(), times: 0 };
    this.stored.set(text, known);
    known.times++;
    if (known.ids.has(id))
      return { status: 409, error: { type: 'version_conflict_engine_exception', reason: 'exists' } };
    known.ids.add(id);
    return { status: 201 };
  }
}

/** Opens routers and receiver; the agent is started by the test. */
export async function openFaultBench(options: FaultBenchOptions = {}): Promise<FaultBench> {
  const { routers: count = 2, host = '127.0.0.1', fileBytes = 16 * 1024, behindMs = 0 } = options;
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-faults-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = opened.use(
    await startSimulator({
      routers: count,
      clock: createSystemClock(),
      seed: 1,
      plainHttp: true,
      // Rotations come while the agent is away, and no file is deleted before it is back.
      logs: { maxSizeBytes: fileBytes, compressionMs: 500, maxFiles: 1000 },
      clockOffsetMs: -behindMs,
    }),
  );
  const receiver = opened.use(new KeyedReceiver());
  const receiverPort = await receiver.open();
  const configFile = join(folder, 'router-exporter.yaml');
  const rows = simulator.routers.map(
    ({ name, url }) => `  - { name: ${name}, url: "${url.replace('127.0.0.1', host)}" }`,
  );
  await writeFile(
    configFile,
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: "${options.storagePath ?? join(folder, 'data')}", spool_max: 64MiB }
defaults:
  username: monitor
  password: simulated
  timezone: Europe/Berlin
  poll: { interval: 1s, timeout: 1s, deadline: 1s, stale_after: 5s }
  logs: { interval: 1s }
routers:
${rows.join('\n')}
sinks:
  - { name: keyed, type: elasticsearch, url: "http://${host}:${receiverPort}", index: logs-a-b, compress: none, batch: { wait: 100ms } }
`,
  );
  const { routers } = simulator;
  let written = 0;
  const append = () => {
    for (const router of routers) {
      for (const component of COMPONENTS)
        router.appendLog(component, `numbered line ${written} of ${router.name}/${component}`);
    }
    written++;
  };
  const writers = opened.use(new DisposableStack());
  const running = opened.move();
  return {
    simulator,
    routers,
    receiver,
    folder,
    configFile,
    startAgent: (around = [], env = {}) => startAgent(configFile, around, env),
    write(lines) {
      for (let line = 0; line < lines; line++) append();
    },
    keepWriting() {
      const timer = setInterval(append, WRITE_EVERY_MS);
      writers.defer(() => clearInterval(timer));
      return () => clearInterval(timer);
    },
    expectComplete: () => expectComplete(routers, receiver),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function startAgent(
  configFile: string,
  around: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningAgent> {
  const command = [process.execPath, PROGRAM, 'run', '--config.file', configFile, '--log.format', 'json'];
  const [file, ...args] = [...around, ...command];
  if (file === undefined) throw new RangeError('There is no command');
  const program = startProgram(file, args, env);
  const [, url = ''] = await program.waitFor('stderr', /"urls":\["([^"]+)"/).catch(async (cause: unknown) => {
    await program[Symbol.asyncDispose]();
    throw cause;
  });
  return {
    process: program.process,
    ended: program.ended,
    waitFor: (stream, pattern) => program.waitFor(stream, pattern),
    get stdout() {
      return program.stdout;
    },
    get stderr() {
      return program.stderr;
    },
    url,
    readMetrics: () =>
      fetch(`${url}/metrics`, { headers: { connection: 'close' } }).then(
        (answer) => answer.text(),
        () => '',
      ),
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}

/** Holds what the receiver has against what the routers wrote: every line, once. */
async function expectComplete(routers: readonly SimulatedRouter[], receiver: KeyedReceiver): Promise<void> {
  const written = routers.flatMap((router) =>
    COMPONENTS.flatMap((component) => router.truth(component).map(({ text }) => LINE.exec(text)?.[0] ?? '')),
  );
  expect(written.length).toBeGreaterThan(0);
  const findMissing = () =>
    written.filter((text) => !receiver.stored.has(text) && !receiver.refused.has(text)).slice(0, 5);
  await expect.poll(findMissing, { timeout: COMPLETE_MS_MAX, interval: 100 }).toEqual([]);
  const twice = [...receiver.stored].filter(([, { ids }]) => ids.size > 1);
  expect(twice.map(([text]) => text)).toEqual([]);
  expect(receiver.stored.size + receiver.refused.size).toBe(new Set(written).size);
}

/** Waits until a metric of the agent matches. */
export async function untilMetric(agent: RunningAgent, pattern: RegExp): Promise<void> {
  await expect.poll(() => agent.readMetrics(), { timeout: COMPLETE_MS_MAX, interval: 200 }).toMatch(pattern);
}
