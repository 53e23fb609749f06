import { renderErrorChain } from '../../base/index.ts';
import { type DeadLetters, type StoredLetter, StoreError } from '../../store/index.ts';
import type { FoundLetter, LetterPage, LetterSummary, WebContent } from '../../web/index.ts';

/** Lists dead letters for pages. A file that cannot be read is a fault of the list: a command may hold it for a moment. */
export async function listLetters(
  store: Pick<DeadLetters, 'list' | 'counts'>,
  { sink, limit, before }: Parameters<WebContent['listLetters']>[0],
): Promise<LetterPage> {
  try {
    const letters = (await store.list({ sink, limit: limit + 1, afterId: before })).map(toSummary);
    const counts = [...store.counts()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { letters: letters.slice(0, limit), hasMore: letters.length > limit, counts, fault: null };
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    return { letters: [], hasMore: false, counts: [], fault: renderErrorChain(cause) };
  }
}

/**
 * Describes one dead letter with its record; `undefined` when there is none of this number, and the fault when their file cannot be
 * read.
 */
export async function findLetter(store: Pick<DeadLetters, 'get'>, id: number): Promise<FoundLetter> {
  try {
    const letter = await store.get(id);
    return letter && { ...toSummary(letter), record: letter.line };
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    return { fault: renderErrorChain(cause) };
  }
}

function toSummary(letter: StoredLetter): LetterSummary {
  const { id, sink, atMs, router, component, timestamp = null, code = null, reason, isReplayed } = letter;
  return { id, sink, at: new Date(atMs).toISOString(), router, component, timestamp, code, reason, isReplayed };
}
