import type { RouterSettings } from '../../config/index.ts';
import { EVENTS_LOG, StoreError } from '../../model/index.ts';
import { renderEventRecord } from '../router-state/router-journal.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import type { SpoolGuard } from '../spool-guard.ts';

/** What the events of all routers have in common. */
export interface JournalTerms {
  /** True if a sink wants the records of these events of a router. */
  readonly isWanted: (kind: string, router: string) => boolean;
  /** Events stored for each router. */
  readonly eventsMax: () => number;
  /** Called if a journal could not be stored; it is tried again. */
  readonly onUnstored: (cause: StoreError, router: string) => void;
}

interface JournalKeeperOptions extends JournalTerms {
  readonly settings: RouterSettings;
  readonly records: Pick<SpoolGuard, 'readJournal' | 'openRouter' | 'commit'>;
  readonly recorder: RouterRecorder;
}

/**
 * Stores the journal of one router, with the records of its new events in the same commit, so that a restart, a kill or a
 * takeover neither repeats nor omits one. What could not be stored waits for the next call.
 */
export class JournalKeeper {
  readonly #options: JournalKeeperOptions;
  #isRecalled = false;
  /** True if another replica has written since the journal was read. */
  #isFenced = false;
  #isStoring = false;
  #isClosed = false;

  constructor(options: JournalKeeperOptions) {
    this.#options = options;
    this.#recall();
  }

  /** Stores what has changed. Never rejects with a `StoreError`. */
  async store(): Promise<void> {
    const { settings, records, recorder, isWanted, eventsMax } = this.#options;
    const { journal } = recorder.state;
    if (this.#isStoring || this.#isClosed) return;
    this.#isStoring = true;
    try {
      if (this.#isFenced) await records.openRouter(settings.name);
      if (this.#isFenced || !this.#isRecalled) this.#recall();
      while (this.#isRecalled && journal.isChanged && !this.#isClosed) {
        const { text, pending, onStored } = journal.prepare(recorder.state, eventsMax());
        const lines = pending
          .filter(({ kind }) => isWanted(kind, settings.name))
          .map((event) => renderEventRecord(event, settings));
        await records.commit({ router: settings.name, component: EVENTS_LOG, position: text, lines });
        onStored();
      }
    } catch (cause) {
      this.#onFailed(cause);
    } finally {
      this.#isStoring = false;
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #recall(): void {
    const { settings, records, recorder } = this.#options;
    try {
      const text = records.readJournal(settings.name);
      this.#isRecalled = true;
      this.#isFenced = false;
      recorder.record({ type: 'journal-recalled', text });
    } catch (cause) {
      this.#onFailed(cause);
    }
  }

  #onFailed(cause: unknown): void {
    if (!(cause instanceof StoreError)) throw cause;
    if (cause.code === 'fenced') this.#isFenced = true;
    // Otherwise, the guard of the spool has logged it.
    else if (cause.disposition !== 'hold-back' && !this.#isClosed) {
      this.#options.onUnstored(cause, this.#options.settings.name);
    }
  }
}
