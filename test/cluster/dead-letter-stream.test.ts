import { expect, test, vi } from 'vitest';
import { DeadLetterIndex } from '../../src/cluster/dead-letter-index.ts';
import { DeadLetterWriter } from '../../src/cluster/dead-letter-stream.ts';
import type { ClusterLink, PublishAnswer } from '../../src/cluster/link.ts';
import { Subjects } from '../../src/cluster/subjects.ts';
import { StoreError } from '../../src/model/store/contracts.ts';

const away = new StoreError('absent', 'The engine is away', { disposition: 'retry' });
const stored: PublishAnswer = { kind: 'stored', seq: 9 };
const unanswered: PublishAnswer = { kind: 'unknown', cause: away };
const full: PublishAnswer = { kind: 'refused', code: 10077, text: 'maximum bytes exceeded' };

/** A writer of three dead letters, and an engine with scripted answers to the removal of each, and to purges. */
function createWriter(answers: readonly PublishAnswer[], purge: () => Promise<void> = async () => {}) {
  const left = [...answers];
  const link = {
    ready: async () => {},
    publish: async () => left.shift() ?? unanswered,
    ask: purge,
  } as unknown as ClusterLink;
  const index = new DeadLetterIndex();
  for (const seq of [1, 2, 3]) {
    index.set({ id: seq, seq, sink: 'a', uid: `u${seq}`, bytes: 10, atMs: 0, isReplayed: false });
  }
  const writer = new DeadLetterWriter(link, new Subjects('test'), () => index);
  return { index, writer, deadLetters: index.list() };
}

test('DeadLetterWriter tells which letters it removed before the engine failed for another one', async () => {
  const { index, writer, deadLetters } = createWriter([stored, unanswered, stored]);
  const onRemoved = vi.fn();
  await expect(writer.remove(deadLetters, onRemoved)).rejects.toBeInstanceOf(StoreError);
  const removed = onRemoved.mock.calls.flatMap(([some]) => some);
  expect(removed.map(({ uid }) => uid)).toEqual(['u1', 'u3']);
  // The one in between may be there still, and is removed another time.
  expect(index.list().map(({ uid }) => uid)).toEqual(['u2']);
});

test('DeadLetterWriter tells which letters it purged where not even a mark had room, though a purge failed', async () => {
  let purges = 0;
  const { index, writer, deadLetters } = createWriter([full, full, full], async () => {
    if (++purges === 2) throw away;
  });
  const onRemoved = vi.fn();
  await expect(writer.remove(deadLetters, onRemoved)).rejects.toBe(away);
  const removed = onRemoved.mock.calls.flatMap(([some]) => some);
  expect(removed.map(({ uid }) => uid)).toEqual(['u1', 'u3']);
  expect(index.list().map(({ uid }) => uid)).toEqual(['u2']);
});
