import { type EmbeddedStore, StoreError } from '../store/index.ts';

/** Small durable facts about a router. They are worth little next to its logs: what cannot be written is written later. */
export interface NoteBook {
  read(router: string, key: string): string | undefined;
  write(router: string, key: string, text: string): void;
}

/** Notes in the store; `onFailed` is told of every failure of it, and nobody else is. */
export function createNoteBook(
  store: Pick<EmbeddedStore, 'readNote' | 'writeNote'>,
  onFailed: (cause: StoreError) => void,
): NoteBook {
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      onFailed(cause);
      return undefined;
    }
  };
  return {
    read: (router, key) => attempt(() => store.readNote(router, key)),
    write: (router, key, text) => attempt(() => store.writeNote(router, key, text)),
  };
}
