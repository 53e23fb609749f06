import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { CommitQueue } from '../../src/cluster/commit-queue.ts';
import type { Message, PublishAnswer, StoredMessage } from '../../src/cluster/link.ts';
import { advanceUntil } from '../support/advance-until.ts';

/** What the engine does with the next batch or single message, instead of answering. */
type Mishap = 'lost' | 'stored without an answer' | { readonly code: number };

/** A stream in memory that takes batches as nats-server does, and has mishaps in the order that a test gives. */
function createBench(mishaps: (Mishap | undefined)[] = []) {
  const clock = createSteppedClock(0);
  const stored: (StoredMessage & { readonly batch: string })[] = [];
  const open: Message[] = [];
  const sizes: number[] = [];
  const stale: string[] = [];
  const lost = new Set<string>();
  const read = (message: Message, name: string): string | undefined => {
    const at = message.words.indexOf(name);
    return at < 0 ? undefined : message.words[at + 1];
  };
  const lastOf = (subject: string) => stored.findLast((message) => message.subject === subject);
  const store = (messages: readonly Message[]): PublishAnswer => {
    for (const message of messages) {
      const expected = read(message, 'Nats-Expected-Last-Subject-Sequence');
      if (expected !== undefined && Number(expected) !== (lastOf(message.subject)?.seq ?? 0)) {
        return { kind: 'refused', code: 10_071, text: 'wrong last sequence' };
      }
    }
    for (const message of messages) {
      const headers = new Map([['Rx-Step', read(message, 'Rx-Step') ?? '']]);
      const batch = read(message, 'Nats-Batch-Id') ?? '';
      const payload = Buffer.from(message.payload);
      stored.push({ subject: message.subject, seq: stored.length + 1, storedMs: 0, payload, headers, batch });
    }
    return { kind: 'stored', seq: stored.length };
  };
  const end = (messages: readonly Message[]): PublishAnswer => {
    sizes.push(messages.length);
    const mishap = mishaps.shift();
    if (mishap === undefined) return store(messages);
    if (typeof mishap === 'object') return { kind: 'refused', ...mishap, text: 'refused' };
    if (mishap === 'stored without an answer') store(messages);
    return { kind: 'unknown', cause: undefined };
  };
  const queue = new CommitQueue({
    link: {
      clock,
      ready: () => Promise.resolve(undefined as never),
      send: (message) => void open.push(message),
      async publish(message) {
        await Promise.resolve();
        if (read(message, 'Nats-Batch-Id') === undefined) return end([message]);
        // The first one of a batch is answered on its own.
        if (read(message, 'Nats-Batch-Commit') === undefined) {
          open.unshift(message);
          return { kind: 'stored', seq: 0 };
        }
        return end([...open.splice(0), message]);
      },
      readLast: (_stream, subject) => Promise.resolve(lastOf(subject)),
    },
    stream: 'RX_test',
    replica: 'one',
    prefix: 'life',
    isOwner: ({ name }) => !lost.has(name),
    onStale: ({ name }) => void stale.push(name),
    onStored: () => {},
  });
  const commit = (router: string, text = 'p', records = 1) => {
    const added = Array.from({ length: records }, () => ({
      subject: `rec.${router}`,
      payload: Buffer.from(text),
      words: [],
    }));
    const fenced = [{ subject: `pos.${router}`, payload: Buffer.from(text) }];
    return queue.commit({ owned: { kind: 'router', name: router }, added, fenced });
  };
  const recordSequence = (...routers: string[]) => {
    for (const router of routers) queue.recordSequence(`pos.${router}`, lastOf(`pos.${router}`)?.seq ?? 0);
  };
  /** Moves the clock until work that waits is done. */
  const settle = <T>(work: Promise<T>): Promise<T> => advanceUntil(work, clock, 50);
  const texts = () => stored.map(({ subject, payload }) => `${subject} ${payload.toString()}`);
  return { queue, commit, recordSequence, settle, stored, texts, sizes, stale, lost, store };
}

test('CommitQueue puts steps that wait into one batch, and a step without records alone is one message', async () => {
  const bench = createBench();
  bench.recordSequence('a', 'b', 'c');
  await bench.commit('a', 'alone', 0);
  await Promise.all([bench.commit('a'), bench.commit('b'), bench.commit('c')]);
  expect(bench.sizes).toEqual([1, 6]);
  expect(new Set(bench.stored.slice(1).map(({ batch }) => batch)).size).toBe(1);
  await Promise.all([bench.commit('a', 'q'), bench.commit('b', 'q')]);
  expect(bench.texts().slice(-4)).toEqual(['rec.a q', 'pos.a q', 'rec.b q', 'pos.b q']);
});

test('CommitQueue puts at most 1,000 messages into one batch, and cuts no step', async () => {
  const bench = createBench();
  const routers = Array.from({ length: 300 }, (_, index) => `r${index}`);
  bench.recordSequence(...routers);
  // Seven messages each: 142 steps are 994 of them, and one more would be too many.
  await Promise.all(routers.map((router) => bench.commit(router, 'p', 6)));
  expect(bench.sizes).toEqual([994, 994, 112]);
  // Eight each: exactly as many as it may be.
  await Promise.all(routers.map((router) => bench.commit(router, 'q', 7)));
  expect(bench.sizes.slice(3)).toEqual([1000, 1000, 400]);
  expect(bench.stored).toHaveLength(300 * (7 + 8));
});

test('CommitQueue writes two steps of one subject one after the other', async () => {
  const bench = createBench();
  bench.recordSequence('a');
  await Promise.all([bench.commit('a', '1'), bench.commit('a', '2'), bench.commit('a', '3')]);
  expect(bench.texts()).toEqual(['rec.a 1', 'pos.a 1', 'rec.a 2', 'pos.a 2', 'rec.a 3', 'pos.a 3']);
});

test.for(['lost', 'stored without an answer'] as const)(
  'CommitQueue sends a batch again that is %s, and stores each step once',
  async (mishap) => {
    const bench = createBench([mishap, mishap, mishap]);
    bench.recordSequence('a', 'b');
    await bench.settle(Promise.all([bench.commit('a'), bench.commit('b')]));
    expect(bench.texts()).toEqual(['rec.a p', 'pos.a p', 'rec.b p', 'pos.b p']);
    // It knows where both are, and continues.
    await Promise.all([bench.commit('a', 'q'), bench.commit('b', 'q')]);
    expect(bench.texts()).toHaveLength(8);
    expect(bench.stale).toEqual([]);
  },
);

test('CommitQueue rejects the step of the router that another has moved, and stores the rest of its group', async () => {
  const bench = createBench();
  bench.recordSequence('a', 'b', 'c');
  bench.store([{ subject: 'pos.b', payload: Buffer.from('of another'), words: ['Rx-Step', 'other'] }]);
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((router) => bench.commit(router)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(outcomes[1]).toMatchObject({ reason: { code: 'fenced', disposition: 'retry' } });
  expect(bench.stale).toEqual(['b']);
  expect(bench.texts()).toEqual(['pos.b of another', 'rec.a p', 'pos.a p', 'rec.c p', 'pos.c p']);
});

test('CommitQueue tries again where the server has no room for one more batch', async () => {
  const bench = createBench([{ code: 10_210 }, { code: 10_176 }]);
  bench.recordSequence('a');
  await bench.settle(bench.commit('a'));
  expect(bench.texts()).toEqual(['rec.a p', 'pos.a p']);
});

test('CommitQueue makes smaller batches where the server takes no such large ones', async () => {
  const bench = createBench([{ code: 10_199 }]);
  const routers = ['a', 'b', 'c', 'd'];
  bench.recordSequence(...routers);
  await Promise.all(routers.map((router) => bench.commit(router, 'p', 3)));
  expect(bench.sizes).toEqual([16, 8, 8]);
  expect(bench.stored).toHaveLength(16);
});

test('CommitQueue rejects what has no room with "full", and still moves what needs none', async () => {
  const bench = createBench([{ code: 10_077 }, { code: 10_077 }]);
  bench.recordSequence('a', 'b');
  const outcomes = await Promise.allSettled([bench.commit('a'), bench.commit('b', 'cursor', 0)]);
  expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { code: 'full', disposition: 'hold-back' } });
  expect(outcomes[1]).toMatchObject({ status: 'fulfilled' });
  expect(bench.texts()).toEqual(['pos.b cursor']);
  expect(bench.stale).toEqual([]);
  await bench.commit('a', 'later');
  expect(bench.texts().slice(1)).toEqual(['rec.a later', 'pos.a later']);
});

test('CommitQueue rejects with a step what waits behind it on the same subject, and nothing else', async () => {
  const bench = createBench([{ code: 10_077 }, { code: 10_077 }]);
  bench.recordSequence('a', 'b');
  const outcomes = await Promise.allSettled([
    bench.commit('a', '1'),
    bench.commit('b', 'cursor', 0),
    bench.commit('a', '2'),
    bench.commit('b', 'next', 0),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(bench.texts()).toEqual(['pos.b cursor', 'pos.b next']);
});

test('CommitQueue fails after ten seconds without an answer, and leaves the outcome of the step open', async () => {
  const bench = createBench(Array.from({ length: 100 }, () => 'lost'));
  bench.recordSequence('a');
  await expect(bench.settle(bench.commit('a'))).rejects.toMatchObject({ code: 'unwritable', disposition: 'hold-back' });
  expect(bench.stale).toEqual(['a']);
});

test('CommitQueue sends nothing for a router that is not owned, or was not opened', async () => {
  const bench = createBench();
  bench.recordSequence('a');
  bench.lost.add('a');
  await expect(bench.commit('a')).rejects.toMatchObject({ code: 'fenced' });
  await expect(bench.commit('unknown')).rejects.toMatchObject({ code: 'fenced' });
  expect(bench.sizes).toEqual([]);
});

test('CommitQueue.settle() waits for the steps of one router, and for no others', async () => {
  const bench = createBench([undefined, 'lost']);
  bench.recordSequence('a', 'b');
  const first = bench.commit('a');
  await Promise.resolve();
  await Promise.resolve();
  const second = bench.commit('b');
  await bench.queue.settle({ kind: 'router', name: 'a' });
  expect(bench.texts()).toEqual(['rec.a p', 'pos.a p']);
  await first;
  await bench.settle(second);
  expect(bench.texts()).toHaveLength(4);
  await bench.queue.settle();
});
