import type { PollSummary } from '../web/index.ts';

interface Poll {
  /** When it began: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
}

/** Polls that are remembered, whatever came of them. */
const RECENT_MAX = 12;
/** Failed ones that are remembered beyond those: what was wrong at night is still to be seen in the morning. */
const FAILED_MAX = 12;

/** The last polls of a router; those that failed are kept longer. */
export class PollHistory {
  readonly #recent: Poll[] = [];
  readonly #failed: Poll[] = [];

  add(poll: Poll): void {
    this.#recent.unshift(poll);
    const oldest = this.#recent.length > RECENT_MAX ? this.#recent.pop() : undefined;
    if (!oldest?.failure) return;
    this.#failed.unshift(oldest);
    if (this.#failed.length > FAILED_MAX) this.#failed.pop();
  }

  /** The newest first. */
  describe(): readonly PollSummary[] {
    return [...this.#recent, ...this.#failed].map(({ atMs, durationMs, failure }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
    }));
  }
}
