import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import type { SinkSummary } from '../../src/web/index.ts';
import { type Program, startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { readRotatedRecords } from '../support/sinks/file-records.ts';
import { AWKWARD_SIGNS, isAwkwardLogComplete, renderAwkwardLog, renderMoreLines } from './awkward-log.ts';
import { openByteRouter } from './byte-router.ts';

/** A record as a receiver hands it out. */
export interface HeldRecord {
  readonly uid: string;
  readonly message: string;
}

/** A real server under test. */
export interface Receiver extends AsyncDisposable {
  /** The sink's keys in the configuration, except its name, as flow style YAML without braces. */
  readonly sink: string;
  /** Whether a record that comes twice is held once. */
  readonly isKeyed: boolean;
  /** What an operator does before the agent runs. */
  prepare?(configFile: string): Promise<void>;
  start(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  /** Everything that it holds. */
  read(): Promise<readonly HeldRecord[]>;
}

/** Lines that are on their way when the server is killed: more than the batches that fit between two looks at the agent. */
const LINES_AT_KILL = 6000;
/** Delivered before it is killed. */
const DELIVERED_AT_KILL = 500;
const LINES_WHILE_DEAD = 100;
const BATCH_RECORDS = 50;
/** A server may need a minute to start on a busy machine. */
const PATIENCE = { timeout: 300_000, interval: 25 };
/** For the whole of {@link expectNothingLost}. */
export const TRIAL_TIMEOUT_MS = 900_000;

/**
 * Ships awkward lines with the whole agent to a server, and asks it what it has: before and after the server is killed in
 * the middle of a delivery, and the agent as well. A `file` sink that runs concurrently receives what is expected.
 */
export async function expectNothingLost(receiver: Receiver): Promise<void> {
  await using router = await openByteRouter();
  await using agent = await openAgent(router.url, receiver.sink);
  const log = 'network/current';
  const append = (bytes: Buffer) =>
    router.files.set(log, Buffer.concat([router.files.get(log) ?? Buffer.alloc(0), bytes]));

  append(renderAwkwardLog(Date.now()));
  await receiver.prepare?.(agent.configFile);
  await agent.start();
  const first = await agent.whenDelivered(isAwkwardLogComplete);
  const signs = new Set<string | undefined>(first.flatMap(({ flags = [], event }) => [...flags, event]));
  expect([...signs]).toEqual(expect.arrayContaining([...AWKWARD_SIGNS]));
  await expectHeld(receiver, first);

  append(renderMoreLines(Date.now(), 0, LINES_AT_KILL));
  const deliveredBefore = (await agent.readSink()).recordsDelivered;
  await vi.waitFor(async () => {
    expect((await agent.readSink()).recordsDelivered).toBeGreaterThan(deliveredBefore + DELIVERED_AT_KILL);
  }, PATIENCE);
  await receiver.kill();
  await vi.waitFor(async () => expect(await agent.readSink()).toMatchObject({ state: 'down' }), PATIENCE);
  // It was in the middle.
  expect((await agent.readSink()).recordsWaiting).toBeGreaterThan(0);
  append(renderMoreLines(Date.now(), LINES_AT_KILL, LINES_WHILE_DEAD));
  await agent.kill();
  await receiver.start();
  await agent.start();
  const last = await agent.whenDelivered(
    (records) => records.length >= first.length + LINES_AT_KILL + LINES_WHILE_DEAD,
  );
  await expectHeld(receiver, last);
}

/** Every record is there, with its message, and nothing else; once, where the server can know. */
async function expectHeld(receiver: Receiver, truth: readonly LogRecord[]): Promise<void> {
  const held = await receiver.read();
  const messages = new Map(held.map(({ uid, message }) => [uid, message]));
  const missing = truth.filter(({ uid }) => !messages.has(uid)).map(({ uid }) => uid);
  expect({ missing }).toEqual({ missing: [] });
  expect(new Set(truth.map(({ uid }) => uid)).size).toBe(truth.length);
  expect(messages.size).toBe(truth.length);
  if (receiver.isKeyed) expect(held).toHaveLength(truth.length);
  for (const { uid, message } of truth) expect({ uid, message: messages.get(uid) }).toEqual({ uid, message });
  // Whichever of two copies was looked at.
  for (const { uid, message } of held) expect({ uid, message }).toEqual({ uid, message: messages.get(uid) });
}

/** `router-exporter run` in a process of its own, with two sinks: `truth`, a file, and `receiver`. */
async function openAgent(routerUrl: string, sink: string) {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-receiver-'));
  const file = join(folder, 'router-exporter.yaml');
  const port = await findFreePort();
  await writeFile(join(folder, 'password'), 'simulated\n');
  await writeFile(
    file,
    `web: { listen: ["127.0.0.1:${port}"] }
routers:
  - name: plant-7
    url: "${routerUrl}"
    username: monitor
    password_file: password
    labels: { site: munich }
    timezone: UTC
    logs: { interval: 1s }
sinks:
  - { name: truth, type: file, path: truth.jsonl, max_size: 1GiB }
  - { name: receiver, batch: { records: ${BATCH_RECORDS}, wait: 0s }, ${sink} }
`,
  );
  let program: Program | undefined;
  const readSinks = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/sinks`);
    return ((await answer.json()) as { readonly sinks: readonly SinkSummary[] }).sinks;
  };
  const readSink = async () => {
    const found = (await readSinks()).find(({ name }) => name === 'receiver');
    return found ?? expect.unreachable('the agent does not know its sink');
  };
  return {
    configFile: file,
    readSink,
    async start(): Promise<void> {
      program = startRouterExporter('run', '--config.file', file);
      await vi.waitFor(readSinks, PATIENCE);
    },
    async kill(): Promise<void> {
      program?.process.kill('SIGKILL');
      await program?.ended;
    },
    /** Resolves with all records, when they are complete and no sink waits for any. */
    async whenDelivered(areComplete: (records: readonly LogRecord[]) => boolean): Promise<LogRecord[]> {
      return await vi.waitFor(async () => {
        const sinks = (await readSinks()).map(({ recordsWaiting, deadLetters }) => ({ recordsWaiting, deadLetters }));
        const done = { recordsWaiting: 0, deadLetters: 0 };
        expect(sinks, program?.stderr).toEqual([done, done]);
        const records = (await readRotatedRecords(join(folder, 'truth.jsonl'))) as unknown as LogRecord[];
        expect(areComplete(records), `${records.length} records`).toBe(true);
        return records;
      }, PATIENCE);
    },
    async [Symbol.asyncDispose]() {
      await program?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
