import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Clock, createSystemClock, parseJson, renderErrorChain } from '../base/index.ts';
import type { ListedRouters } from './router-list.ts';
import type { SourceSettings } from './settings.ts';

interface Missing {
  readonly missing: number;
  /** Number of routers that the source has now, or the largest one of the last day. */
  readonly of: number;
}

/**
 * Returns what an answer lacks if it removes more than allowed at once or within a day: more than the share
 * `removalMax` of its routers (one router may always go), or all of them. `largest` is the largest number of routers
 * within the last day. `undefined` if the answer may be used.
 */
export function findMissing(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  removalMax: number,
  largest = 0,
): Missing | undefined {
  let missing = 0;
  for (const name of before) if (!after.has(name)) missing++;
  if (missing === 0 || removalMax >= 1) return undefined;
  const isTooMuch = (gone: number, of: number) => gone > Math.max(1, of * removalMax);
  const isAllGone = after.size === 0;
  if (isAllGone || isTooMuch(missing, before.size)) return { missing, of: before.size };
  // Many small removals within a day count as a large one.
  const gone = largest - after.size;
  return isTooMuch(gone, largest) ? { missing: gone, of: largest } : undefined;
}

interface FormerCount {
  readonly routers: number;
  /** Time of the change to another number. Milliseconds since the Unix epoch. */
  readonly untilMs: number;
}

interface StoredAnswer {
  readonly text: string;
  /** Finds the list again when its source is renamed. */
  readonly origin: string;
  /** Numbers of routers of the last day, the largest first. */
  readonly counts: readonly FormerCount[];
}

const COUNTS_MAX = 50;
const DAY_MS = 86_400_000;

const headSchema = z.object({
  origin: z.string(),
  counts: z.array(z.object({ routers: z.number(), untilMs: z.number() })).max(COUNTS_MAX),
});

/** A JSON line with origin and counts, then the list. */
function renderStored({ text, origin, counts }: StoredAnswer): string {
  return `${JSON.stringify({ origin, counts })}\n${text}`;
}

/** `undefined` unless {@link renderStored} has written it. */
function parseStored(content: string): StoredAnswer | undefined {
  const end = content.indexOf('\n');
  const head = headSchema.safeParse(parseJson(content.slice(0, Math.max(0, end))));
  return head.success ? { ...head.data, text: content.slice(end + 1) } : undefined;
}

/** Drops counts older than a day or smaller than later ones. */
function addCount(counts: readonly FormerCount[], routers: number, nowMs: number): readonly FormerCount[] {
  const larger = counts.filter((one) => one.routers > routers && one.untilMs > nowMs - DAY_MS);
  const all = [...larger, { routers, untilMs: nowMs }];
  if (all.length <= COUNTS_MAX) return all;
  // Merges the oldest two: the larger number until the later time.
  const [first = { routers, untilMs: nowMs }, second = first, ...rest] = all;
  return [{ routers: first.routers, untilMs: second.untilMs }, ...rest];
}

function findLargest(counts: readonly FormerCount[], nowMs: number): number {
  return counts.find(({ untilMs }) => untilMs > nowMs - DAY_MS)?.routers ?? 0;
}

/** Files in which the last good answer of each source is kept. */
export interface AnswerFiles {
  /** Returns `undefined` if there is no file. Rejects if it cannot be read. */
  read(name: string): Promise<string | undefined>;
  /** Rejects if the file cannot be written. */
  write(name: string, text: string): Promise<void>;
  /** Returns the names of sources with a file. Never rejects. */
  list(): Promise<readonly string[]>;
  /** Removes a file. Never rejects. */
  remove(name: string): Promise<void>;
}

/** Outcome of one source in a configuration. */
export interface SourceOutcome {
  readonly source: string;
  /** The answer whose routers are in the configuration; `undefined` without one. */
  readonly text: string | undefined;
  readonly routers: ReadonlySet<string>;
  /** Those that are polled: the source has neither paused nor retired them. Default: all. */
  readonly asked?: ReadonlySet<string> | undefined;
  readonly refused: number;
  /** Reasons of some of them. */
  readonly refusals: readonly string[];
  /** A newer answer that is not used, because it removes too much. */
  readonly held?: (Missing & { readonly text: string }) | undefined;
  /** A newer answer that is not used, because it cannot be parsed. */
  readonly faulty?: string | undefined;
  /** The newest answer when the configuration was loaded, if it was not in use yet. */
  readonly seen?: string | undefined;
  /** True if removals were allowed, so that earlier numbers of routers no longer count. Default: false. */
  readonly isShrinkAllowed?: boolean | undefined;
  /** Why the stored answer of an earlier process could not be read. */
  readonly unreadable?: string | undefined;
}

interface SourceState {
  /** The newest answer, unless it is in use. */
  readonly candidate: string | undefined;
  /** The list that was read last, even if it equals the one in use. Absent: this process has read none. */
  readonly listed?: ListedRouters | undefined;
  /** The answer in use. */
  readonly accepted: string | undefined;
  /** Names of its routers that are polled; empty until a configuration has been loaded. */
  readonly routers: ReadonlySet<string>;
  readonly isConfirmed: boolean;
  /** True until a configuration runs that was loaded with the newest answer. */
  readonly isPending: boolean;
  /** Candidate that a running configuration holds back. */
  readonly held: string | undefined;
  readonly origin: string;
  /** Of the last day. */
  readonly counts: readonly FormerCount[];
  readonly isStored: boolean;
  readonly unreadable: string | undefined;
}

/** Identity of a source, independent of its name. */
type Identity = Pick<SourceSettings, 'name' | 'type'> & {
  readonly url?: string;
  readonly files?: readonly string[];
  readonly query?: string | undefined;
};

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
 * The answers of all sources. A reader offers them, loading a configuration uses them, and they are accepted when that
 * configuration runs.
 *
 * ```
 *   nothing ── offer() ──▶ candidate ── settle() ──▶ accepted, on disk
 *                              └── settle(), held back ──▶ candidate, until confirmed or replaced
 * ```
 */
export class SourceKeeper {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #states = new Map<string, SourceState>();
  #files: AnswerFiles | undefined;

  constructor(clock: Pick<Clock, 'now'> = createSystemClock()) {
    this.#clock = clock;
  }

  keepIn(files: AnswerFiles): void {
    this.#files = files;
  }

  /**
   * Returns the answers of a source, from `files` if an earlier process accepted them. A new source takes over the
   * answer of a source with the same origin that is not among `configured`: it was only renamed.
   */
  async open(source: Identity, files: AnswerFiles, configured: ReadonlySet<string> = new Set()): Promise<SourceState> {
    this.keepIn(files);
    const origin = renderOrigin(source);
    const known = this.#states.get(source.name);
    if (known && known.origin !== '') {
      const isStored = known.isStored && known.origin === origin;
      return this.#set(source.name, { ...known, origin, isStored });
    }
    const found = await this.#find(source.name, origin, files, configured);
    return this.#set(source.name, { ...(this.#states.get(source.name) ?? NOTHING), ...found, origin });
  }

  /** Returns the largest number of routers that a source had within the last day. */
  findLargest(name: string): number {
    return findLargest(this.#states.get(name)?.counts ?? [], this.#clock.now());
  }

  /** Adds a newly read answer. Returns false if it changes nothing. */
  offer(name: string, listed: ListedRouters): boolean {
    const state = this.#set(name, { ...(this.#states.get(name) ?? NOTHING), listed });
    const { text } = listed;
    if (text === state.candidate) return false;
    if (text === state.accepted) {
      // The source has recovered: the rejected answer no longer waits.
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

  /** Confirms the removals of this answer. Returns false if it is no longer the newest one. */
  confirm(name: string, text: string): boolean {
    const state = this.#states.get(name);
    if (state?.candidate !== text) return false;
    this.#set(name, { ...state, isConfirmed: true, isPending: true });
    return true;
  }

  /**
   * Records the outcomes of the configuration that now runs, stores newly accepted answers, and removes those of other
   * sources. Returns the answers that could not be stored.
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
    // An answer that could not be stored may still be in the file of the former name.
    if (failures.length === 0) await this.#forgetOthers(new Set(outcomes.map(({ source }) => source)));
    return failures;
  }

  /** Stores the answer in use unless it is stored. Returns the failure. */
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
    // A held answer that is now used was confirmed, if only by a larger share.
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

/** A digest, because a URL may hold a token. */
function renderOrigin({ type, url, files, query = '' }: Identity): string {
  return createHash('sha256')
    .update(JSON.stringify([type, url, files, type === 'netbox' ? query : undefined]))
    .digest('hex');
}
