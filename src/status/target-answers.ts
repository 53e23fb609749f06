import { createNumbers } from '../base/index.ts';
import type { CompiledJoin, JoinTable } from './mapping/join.ts';
import type { PollPlan, PollTarget } from './poll-plan.ts';
import type { HeldAnswer } from './read-target.ts';

/** Rows of a target's last answer for joins, by join. */
export type JoinTables = ReadonlyMap<CompiledJoin, JoinTable>;

/** Rows for joins, and the number of the answer among those that had rows. */
export interface JoinRows {
  readonly tables: JoinTables;
  readonly version: number;
}

/** Rows of a target before its first answer with rows. */
const NO_ROWS: JoinRows = { tables: new Map(), version: 0 };
/** Rows that have expired: a version of no answer. */
export const EXPIRED_ROWS: JoinRows = { tables: NO_ROWS.tables, version: -1 };

/**
 * Marks of a target. `left-over`: the previous poll ended before reaching it. `asked`: it was asked for, with or without
 * success. `outdated`: its values may be of another router.
 */
type TargetMark = 'left-over' | 'asked' | 'outdated';
const BITS: Readonly<Record<TargetMark, number>> = { 'left-over': 1, asked: 2, outdated: 4 };

/**
 * What is kept of the answers of one router to each target of its plan. Packed, for the same reason as `TargetTimers`.
 */
export class TargetAnswers {
  readonly #marks: Uint8Array;
  readonly #held: (HeldAnswer | undefined)[];
  /** By the index of the target; few targets have rows, and most routers none. */
  #rows: Map<number, JoinRows> | undefined;

  constructor({ targets }: PollPlan) {
    this.#marks = createNumbers(Uint8Array, targets.length);
    this.#held = targets.map(() => undefined);
  }

  has({ index }: PollTarget, mark: TargetMark): boolean {
    return ((this.#marks[index] ?? 0) & BITS[mark]) !== 0;
  }

  mark({ index }: PollTarget, mark: TargetMark, isMarked = true): void {
    const others = (this.#marks[index] ?? 0) & ~BITS[mark];
    this.#marks[index] = isMarked ? others | BITS[mark] : others;
  }

  /** Returns the last answer, if an equal one means the same. */
  held({ index }: PollTarget): HeldAnswer | undefined {
    return this.#held[index];
  }

  hold({ index }: PollTarget, answer: HeldAnswer | undefined): void {
    this.#held[index] = answer;
  }

  rows({ index }: PollTarget): JoinRows {
    return this.#rows?.get(index) ?? NO_ROWS;
  }

  /** Replaces the rows of a target; none are not another answer than none. */
  recordRows(target: PollTarget, tables: JoinTables = NO_ROWS.tables): void {
    const known = this.rows(target);
    if (tables.size === 0 && known.tables.size === 0) return;
    this.#rows ??= new Map();
    this.#rows.set(target.index, { tables, version: known.version + 1 });
  }
}
