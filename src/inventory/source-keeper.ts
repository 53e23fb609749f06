import type { Missing } from './removal-guard.ts';
import type { SourceSettings } from './settings.ts';

/** Files in which the last good answer of each source is kept. */
export interface AnswerFiles {
  /** Returns `undefined` if there is none, or it cannot be read. */
  read(name: string): Promise<string | undefined>;
  /** Rejects if the disk does not take it. */
  write(name: string, text: string): Promise<void>;
}

/** What a configuration made of the answers of one source. */
export interface SourceOutcome {
  readonly source: string;
  /** The answer whose routers are in the configuration; `undefined` without one. */
  readonly text: string | undefined;
  /** Names of its routers. */
  readonly routers: ReadonlySet<string>;
  /** Number of routers that were left out. */
  readonly refused: number;
  /** Reasons of some of them. */
  readonly refusals: readonly string[];
  /** A newer answer that is not used, because it removes too much. */
  readonly held?: (Missing & { readonly text: string }) | undefined;
  /** A newer answer that is not used, because it cannot be parsed or gives no router at all where there were some. */
  readonly faulty?: string | undefined;
}

/** Answers of one source. */
export interface SourceState {
  /** The newest one, if it is not used yet. */
  readonly candidate: string | undefined;
  /** The one in use. */
  readonly accepted: string | undefined;
  /** Names of the routers of the latter; empty until a configuration has been loaded. */
  readonly routers: ReadonlySet<string>;
  /** True if an operator has confirmed the removals of the candidate. */
  readonly isConfirmed: boolean;
}

const NOTHING: SourceState = { candidate: undefined, accepted: undefined, routers: new Set(), isConfirmed: false };

/**
 * The answers of all sources: offered by who reads them, taken by who loads the configuration, and accepted when that
 * configuration runs.
 *
 *   nothing ──offer──▶ candidate ──settle──▶ accepted, on disk
 *                          └──settle (held)──▶ candidate, until confirmed or replaced by another answer
 */
export class SourceKeeper {
  readonly #states = new Map<string, SourceState>();
  #files: AnswerFiles | undefined;

  /** Returns the answers of a source. What an earlier process accepted is read from `files`. */
  async open({ name }: Pick<SourceSettings, 'name'>, files: AnswerFiles): Promise<SourceState> {
    this.#files = files;
    const known = this.#states.get(name);
    if (known) return known;
    const state = { ...NOTHING, accepted: await files.read(name) };
    // Meanwhile the source may have answered.
    const now = this.#states.get(name);
    if (now) return now;
    this.#states.set(name, state);
    return state;
  }

  /** Takes a newly read answer. Returns false if it changes nothing. */
  offer(name: string, text: string): boolean {
    const state = this.#states.get(name) ?? NOTHING;
    if (text === state.candidate) return false;
    if (text === state.accepted) {
      // A source that has recovered: its former answer is not waiting any more.
      this.#states.set(name, { ...state, candidate: undefined, isConfirmed: false });
      return state.candidate !== undefined;
    }
    this.#states.set(name, { ...state, candidate: text, isConfirmed: false });
    return true;
  }

  /** Confirms the removals of this answer. Returns false if it is not the newest one any more. */
  confirm(name: string, text: string): boolean {
    const state = this.#states.get(name);
    if (state?.candidate !== text) return false;
    this.#states.set(name, { ...state, isConfirmed: true });
    return true;
  }

  /**
   * Notes that a configuration with these outcomes runs, and stores newly accepted answers. Returns the sources whose answers
   * could not be stored, with the reason.
   */
  async settle(
    outcomes: readonly SourceOutcome[],
  ): Promise<readonly { readonly source: string; readonly cause: unknown }[]> {
    const failures: { source: string; cause: unknown }[] = [];
    for (const { source, text, routers } of outcomes) {
      const state = this.#states.get(source) ?? NOTHING;
      const isNew = text !== undefined && text !== state.accepted;
      const isTaken = text === state.candidate;
      this.#states.set(source, {
        ...state,
        accepted: text,
        routers,
        ...(isTaken && { candidate: undefined, isConfirmed: false }),
      });
      if (!isNew) continue;
      await this.#files?.write(source, text).catch((cause: unknown) => failures.push({ source, cause }));
    }
    return failures;
  }
}
