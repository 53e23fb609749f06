import type { PollFault, PollSummary } from '../web/index.ts';

interface Poll {
  /** When it began: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Why it did not reach the router. */
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  /** What failed first, also where the router was reached. */
  readonly fault: PollFault | undefined;
}

/** Polls that are remembered, whatever came of them. */
const RECENT_MAX = 12;
/** Failed ones that are remembered beyond those: what was wrong at night is still to be seen in the morning. */
const FAILED_MAX = 12;
/** And those that reached the router, but not every resource: such a resource may fail for ever, and crowds out nothing. */
const PARTIAL_MAX = 4;

/** The last polls of a router; those that failed are kept longer. */
export class PollHistory {
  readonly #recent: Poll[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  add(poll: Poll): void {
    this.#recent.unshift(poll);
    const oldest = this.#recent.length > RECENT_MAX ? this.#recent.pop() : undefined;
    if (oldest?.failure) keep(this.#failed, oldest, FAILED_MAX);
    else if (oldest?.fault) keep(this.#partial, oldest, PARTIAL_MAX);
  }

  /** The newest first. */
  describe(): readonly PollSummary[] {
    const kept = [...this.#failed, ...this.#partial].toSorted((a, b) => b.atMs - a.atMs);
    return [...this.#recent, ...kept].map(({ atMs, durationMs, failure, fault }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
      fault: fault ?? null,
    }));
  }
}

function keep(polls: Poll[], poll: Poll, max: number): void {
  polls.unshift(poll);
  if (polls.length > max) polls.pop();
}
