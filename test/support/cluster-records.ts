import { expect, vi } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import { readRecords } from './cluster-stream.ts';
import type { ClusterWorld } from './cluster-world.ts';
import type { NatsServer } from './sinks/nats-server.ts';

const PATIENCE = { timeout: 180_000, interval: 100 };

/** Messages that the routers have written, by router. */
function listWritten(world: ClusterWorld): string[] {
  return [...world.written].flatMap(([router, lines]) =>
    lines.map((line) => `${router} ${line.replace(/^.*\] /, '')}`),
  );
}

/** Returns a record as {@link listWritten} lists its line. */
const toText = ({ router, message }: LogRecord) => `${router} ${message}`;

/** Of each router, records come in the order in which their lines were written; repeats do not count. */
function expectOrder(records: readonly LogRecord[]): void {
  const seen = new Set<string>();
  const last = new Map<string, number>();
  const wrong: string[] = [];
  for (const record of records) {
    const { router, uid, message } = record;
    const number = Number(/line (\d+)/.exec(message ?? '')?.[1] ?? Number.NaN);
    if (seen.has(uid) || Number.isNaN(number)) continue;
    seen.add(uid);
    if (number <= (last.get(router) ?? 0)) wrong.push(toText(record));
    last.set(router, number);
  }
  expect(wrong).toEqual([]);
}

/** The sink has got every line that was written up to now, at least once. */
export async function expectReceived(world: ClusterWorld): Promise<void> {
  const written = listWritten(world);
  await vi.waitFor(() => {
    const received = new Set(world.received.map(toText));
    expect(written.filter((line) => !received.has(line)).slice(0, 5)).toEqual([]);
  }, PATIENCE);
}

/** Each line is in the stream once, has reached the sink, and none was given up. */
export async function expectComplete(server: Pick<NatsServer, 'url'>, world: ClusterWorld): Promise<void> {
  const written = listWritten(world).toSorted();
  await expectReceived(world);
  // A server that has just been started answers once there is a leader of all.
  const stored = await vi.waitFor(() => readRecords(server), PATIENCE);
  const lines = stored.filter(({ event }) => event === undefined);
  expect(lines.map(toText).toSorted()).toEqual(written);
  const uids = stored.map(({ uid }) => uid);
  expect(uids).toHaveLength(new Set(uids).size);
  expectOrder(stored);
  expectOrder(world.received);
  // No line was given up.
  expect(world.received.filter(({ event }) => event?.startsWith('gap'))).toEqual([]);
}
