import { expect, test, vi } from 'vitest';
import { LetterIndex } from '../../../src/store/cluster/letter-index.ts';
import { LetterWriter } from '../../../src/store/cluster/letter-writer.ts';
import type { ClusterLink, PublishAnswer } from '../../../src/store/cluster/link.ts';
import { Subjects } from '../../../src/store/cluster/subjects.ts';
import { StoreError } from '../../../src/store/errors.ts';

const away = new StoreError('absent', 'The engine is away', { disposition: 'retry' });
const stored: PublishAnswer = { kind: 'stored', seq: 9 };
const unanswered: PublishAnswer = { kind: 'unknown', cause: away };
const full: PublishAnswer = { kind: 'refused', code: 10077, text: 'maximum bytes exceeded' };

/** A writer of three letters, and an engine that answers to the removal of each, and to purges, as it is told. */
function createWriter(answers: readonly PublishAnswer[], purge: () => Promise<void> = async () => {}) {
  const left = [...answers];
  const link = {
    ready: async () => {},
    publish: async () => left.shift() ?? unanswered,
    ask: purge,
  } as unknown as ClusterLink;
  const index = new LetterIndex();
  for (const seq of [1, 2, 3]) {
    index.set({ id: seq, seq, sink: 'a', uid: `u${seq}`, bytes: 10, atMs: 0, isReplayed: false });
  }
  const writer = new LetterWriter(link, new Subjects('test'), () => index);
  return { index, writer, letters: index.list() };
}

test('LetterWriter tells which letters it removed before the engine failed for another one', async () => {
  const { index, writer, letters } = createWriter([stored, unanswered, stored]);
  const onRemoved = vi.fn();
  await expect(writer.remove(letters, onRemoved)).rejects.toBeInstanceOf(StoreError);
  const removed = onRemoved.mock.calls.flatMap(([some]) => some);
  expect(removed.map(({ uid }) => uid)).toEqual(['u1', 'u3']);
  // The one in between may be there still, and is removed another time.
  expect(index.list().map(({ uid }) => uid)).toEqual(['u2']);
});

test('LetterWriter tells which letters it purged where not even a mark had room, though a purge failed', async () => {
  let purges = 0;
  const { index, writer, letters } = createWriter([full, full, full], async () => {
    if (++purges === 2) throw away;
  });
  const onRemoved = vi.fn();
  await expect(writer.remove(letters, onRemoved)).rejects.toBe(away);
  const removed = onRemoved.mock.calls.flatMap(([some]) => some);
  expect(removed.map(({ uid }) => uid)).toEqual(['u1', 'u3']);
  expect(index.list().map(({ uid }) => uid)).toEqual(['u2']);
});
