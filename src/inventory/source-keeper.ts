import { createHash } from 'node:crypto';
import { type Clock, createSystemClock, renderErrorChain } from '../base/index.ts';
import { addCount, type FormerCount, findLargest, type Missing, parseStored, renderStored } from './removal-guard.ts';
import type { ListedRouters } from './router-list.ts';
import type { SourceSettings } from './settings.ts';

/** Files in which the last good answer of each source is kept. */
export interface AnswerFiles {
  /** Returns `undefined` if there is none. Rejects if it cannot be read. */
  read(name: string): Promise<string | undefined>;
  /** Rejects if the disk does not take it. */
  write(name: string, text: string): Promise<void>;
  /** Names of which there is a file. Never rejects. */
  list(): Promise<readonly string[]>;
  /** Removes a file. Never rejects. */
  remove(name: string): Promise<void>;
}

/** Outcome of one source in a configuration. */
export interface SourceOutcome {
  readonly source: string;
  /** The answer whose routers are in the configuration; `undefined` without one. */
  readonly text: string | undefined;
  /** Names of its routers. */
  readonly routers: ReadonlySet<string>;
  /** Those of them that are asked: the source has neither paused nor retired them. Default: all. */
  readonly asked?: ReadonlySet<string> | undefined;
  /** Number of routers that were left out. */
  readonly refused: number;
  /** Reasons of some of them. */
  readonly refusals: readonly string[];
  /** A newer answer that is not used, because it removes too much. */
  readonly held?: (Missing & { readonly text: string }) | undefined;
  /** A newer answer that is not used, because it cannot be parsed. */
  readonly faulty?: string | undefined;
  /** The newest answer when the configuration was loaded, if it was not in use yet. */
  readonly seen?: string | undefined;
  /** True if removals were allowed, so that the numbers of routers before it no longer count. Default: false. */
  readonly isShrinkAllowed?: boolean | undefined;
  /** Why the stored answer of an earlier process could not be read. */
  readonly unreadable?: string | undefined;
}

/** Answers of one source. */
interface SourceState {
  /** The newest one, if it is not used yet. */
  readonly candidate: string | undefined;
  /** The list that was read last, also if it is as the one in use. Default: none was read by this process. */
  readonly listed?: ListedRouters | undefined;
  /** The one in use. */
  readonly accepted: string | undefined;
  /** Names of the routers of the latter that are asked; empty until a configuration has been loaded. */
  readonly routers: ReadonlySet<string>;
  /** True if an operator has confirmed the removals of the candidate. */
  readonly isConfirmed: boolean;
  /** True until a configuration runs that was loaded with the newest answer. */
  readonly isPending: boolean;
  /** Candidate that a running configuration holds back. */
  readonly held: string | undefined;
  /** Origin of the answers. */
  readonly origin: string;
  /** Numbers of routers of the last day. */
  readonly counts: readonly FormerCount[];
  /** False while the answer in use is not on disk. */
  readonly isStored: boolean;
  /** Why the stored answer could not be read. */
  readonly unreadable: string | undefined;
}

/** Identity of a source, independent of its name. */
type Identity = Pick<SourceSettings, 'name' | 'type'> & {
  readonly url?: string;
  readonly files?: readonly string[];
  readonly query?: string | undefined;
};

/** An answer that could not be stored. */
interface StoreFailure {
  readonly source: string;
  readonly cause: unknown;
}

const NOTHING: SourceState = {
  candidate: undefined,
  accepted: undefined,
  routers: new Set(),
  isConfirmed: false,
  isPending: false,
  held: undefined,
  origin: '',
  counts: [],
  isStored: true,
  unreadable: undefined,
};

/**
 * The answers of all sources: offered by who reads them, taken by who loads the configuration, and accepted when that
 * configuration runs.
 *
 *   nothing ──offer──▶ candidate ──settle──▶ accepted, on disk
 *                          └──settle (held)──▶ candidate, until confirmed or replaced by another answer
 */
export class SourceKeeper {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #states = new Map<string, SourceState>();
  #files: AnswerFiles | undefined;

  /** `clock` dates the numbers of routers that a source had. */
  constructor(clock: Pick<Clock, 'now'> = createSystemClock()) {
    this.#clock = clock;
  }

  /** Keeps answers in these files from now on. */
  keepIn(files: AnswerFiles): void {
    this.#files = files;
  }

  /**
   * Returns the answers of a source. What an earlier process accepted is read from `files`. A source that is new takes over
   * the answer of one with the same origin that is not among `configured`, because it only has another name.
   */
  async open(source: Identity, files: AnswerFiles, configured: ReadonlySet<string> = new Set()): Promise<SourceState> {
    this.keepIn(files);
    const origin = renderOrigin(source);
    const known = this.#states.get(source.name);
    // A reading may have come first.
    if (known && known.origin !== '') {
      const isStored = known.isStored && known.origin === origin;
      return this.#set(source.name, { ...known, origin, isStored });
    }
    const found = await this.#find(source.name, origin, files, configured);
    return this.#set(source.name, { ...(this.#states.get(source.name) ?? NOTHING), ...found, origin });
  }

  /** Returns the largest number of routers that a source had within a day, before the ones that it has now. */
  findLargest(name: string): number {
    return findLargest(this.#states.get(name)?.counts ?? [], this.#clock.now());
  }

  /** Takes a newly read answer. Returns false if it changes nothing. */
  offer(name: string, listed: ListedRouters): boolean {
    const state = this.#set(name, { ...(this.#states.get(name) ?? NOTHING), listed });
    const { text } = listed;
    if (text === state.candidate) return false;
    if (text === state.accepted) {
      // A source that has recovered: its former answer is not waiting any more.
      const isPending = state.candidate !== undefined;
      this.#set(name, { ...state, candidate: undefined, isConfirmed: false, isPending });
      return isPending;
    }
    this.#set(name, { ...state, candidate: text, isConfirmed: false, isPending: true });
    return true;
  }

  /** True if no running configuration has been loaded with the newest answer. */
  isPending(name: string): boolean {
    return this.#states.get(name)?.isPending === true;
  }

  /** Confirms the removals of this answer. Returns false if it is not the newest one any more. */
  confirm(name: string, text: string): boolean {
    const state = this.#states.get(name);
    if (state?.candidate !== text) return false;
    this.#set(name, { ...state, isConfirmed: true, isPending: true });
    return true;
  }

  /**
   * Notes that a configuration with these outcomes, of all of its sources, runs, stores newly accepted answers, and removes
   * those of other sources. Returns the sources whose answers could not be stored, with the reason.
   */
  async settle(outcomes: readonly SourceOutcome[]): Promise<readonly StoreFailure[]> {
    const failures: StoreFailure[] = [];
    for (const outcome of outcomes) {
      const { source, text, held, seen, unreadable } = outcome;
      const state = this.#states.get(source) ?? NOTHING;
      const isNew = text !== undefined && text !== state.accepted;
      const isTaken = text !== undefined && text === state.candidate;
      this.#set(source, {
        ...state,
        accepted: text,
        routers: outcome.asked ?? outcome.routers,
        held: held?.text,
        unreadable: isNew ? undefined : unreadable,
        isPending: !isTaken && state.candidate !== seen,
        counts: isNew ? this.#count(state, outcome) : state.counts,
        isStored: state.isStored && !isNew,
        ...(isTaken && { candidate: undefined, isConfirmed: false }),
      });
      const failure = await this.store(source);
      if (failure) failures.push(failure);
    }
    // What could not be stored may still be there under the name before.
    if (failures.length === 0) await this.#forgetOthers(new Set(outcomes.map(({ source }) => source)));
    return failures;
  }

  /** Stores the answer in use, unless it is stored. Returns why it could not. */
  async store(source: string): Promise<StoreFailure | undefined> {
    const state = this.#states.get(source);
    if (!this.#files || !state || state.isStored || state.accepted === undefined) return undefined;
    const { accepted: text, origin, counts } = state;
    try {
      await this.#files.write(source, renderStored({ text, origin, counts }));
    } catch (cause) {
      return { source, cause };
    }
    const now = this.#states.get(source);
    if (now?.accepted === text) this.#set(source, { ...now, isStored: true });
    return undefined;
  }

  #set(name: string, state: SourceState): SourceState {
    this.#states.set(name, state);
    return state;
  }

  #count({ counts, routers, held }: SourceState, { text, isShrinkAllowed }: SourceOutcome): readonly FormerCount[] {
    // What was held and is now used has been confirmed, if only by a larger share.
    if (isShrinkAllowed === true || text === held) return [];
    return addCount(counts, routers.size, this.#clock.now());
  }

  async #find(name: string, origin: string, files: AnswerFiles, configured: ReadonlySet<string>) {
    const own = await read(files, name);
    if (own.stored || own.unreadable !== undefined) return toState(own);
    for (const [other, state] of this.#states) {
      if (state.origin !== origin || configured.has(other) || other === name || state.accepted === undefined) continue;
      return { accepted: state.accepted, routers: state.routers, counts: state.counts, isStored: false };
    }
    for (const other of await files.list()) {
      if (configured.has(other) || other === name) continue;
      const former = await read(files, other);
      if (former.stored?.origin === origin) return { ...toState(former), isStored: false };
    }
    return {};
  }

  async #forgetOthers(configured: ReadonlySet<string>): Promise<void> {
    for (const name of this.#states.keys()) if (!configured.has(name)) this.#states.delete(name);
    for (const name of (await this.#files?.list()) ?? []) if (!configured.has(name)) await this.#files?.remove(name);
  }
}

async function read(files: AnswerFiles, name: string) {
  try {
    const content = await files.read(name);
    return { stored: content === undefined ? undefined : parseStored(content), unreadable: undefined };
  } catch (cause) {
    return { stored: undefined, unreadable: renderErrorChain(cause) };
  }
}

function toState({ stored, unreadable }: Awaited<ReturnType<typeof read>>) {
  return { accepted: stored?.text, counts: stored?.counts ?? [], unreadable };
}

/** Identifies where answers come from. A digest, because a URL may hold a token. */
function renderOrigin({ type, url, files, query = '' }: Identity): string {
  return createHash('sha256')
    .update(JSON.stringify([type, url, files, type === 'netbox' ? query : undefined]))
    .digest('hex');
}
