import { hash } from 'node:crypto';
import type { RouterSettings } from '../../config/index.ts';
import { EVENTS_LOG, StoreError } from '../../model/index.ts';
import { renderEventRecord } from '../router-state/router-journal.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import type { SpoolGuard } from '../spool-guard.ts';

/** What the journals of all routers have in common. */
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
  /** False before the journal was read, and after another replica has written it. */
  #isCurrent = false;
  #isStoring = false;
  /** Of the stored text: the texts of ten thousand routers take some tens of megabytes. */
  #digest = '';

  constructor(options: JournalKeeperOptions) {
    this.#options = options;
    void this.#attempt(async () => this.#recall());
  }

  /** Stores what has changed. Never rejects with a {@link StoreError}. */
  async store(): Promise<void> {
    const { settings, records, recorder, isWanted, eventsMax } = this.#options;
    const { name: router } = settings;
    const { journal, reach } = recorder.state;
    // Before the first poll there is nothing new.
    if (this.#isStoring || reach === 'unknown') return;
    this.#isStoring = true;
    await this.#attempt(async () => {
      if (!this.#isCurrent) await records.openRouter(router);
      if (!this.#isCurrent) this.#recall();
      const { text, pending, onStored } = journal.prepare(recorder.state, eventsMax());
      const digest = hash('sha256', text);
      if (digest === this.#digest) return;
      const wanted = pending.filter(({ kind }) => isWanted(kind, router));
      const lines = wanted.map((event) => renderEventRecord(event, settings));
      await records.commit({ router, component: EVENTS_LOG, position: text, lines });
      this.#digest = digest;
      onStored();
    });
    this.#isStoring = false;
  }

  #recall(): void {
    const { settings, records, recorder } = this.#options;
    const text = records.readJournal(settings.name);
    this.#isCurrent = true;
    this.#digest = hash('sha256', text ?? '');
    recorder.record({ type: 'journal-recalled', text });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      if (cause.code === 'fenced') this.#isCurrent = false;
      // The guard of the spool has logged the others.
      else if (cause.disposition !== 'hold-back') this.#options.onUnstored(cause, this.#options.settings.name);
    }
  }
}
