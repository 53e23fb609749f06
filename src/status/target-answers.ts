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

/** What is kept of the answers of one router to each target of its plan. */
export class TargetAnswers {
  /** Targets that the previous poll did not reach. */
  readonly leftOver = new Set<PollTarget>();
  /** Targets whose values may be of another router. */
  readonly outdated = new Set<PollTarget>();
  /** By the index of the target: true if it was asked for, with or without success. */
  readonly #isAsked: boolean[];
  /** By the index of the target. */
  readonly #held: (HeldAnswer | undefined)[];
  /** By the index of the target; few targets have rows, and most routers none. */
  #rows: Map<number, JoinRows> | undefined;

  constructor({ targets }: PollPlan) {
    this.#isAsked = targets.map(() => false);
    this.#held = targets.map(() => undefined);
  }

  isAsked({ index }: PollTarget): boolean {
    return this.#isAsked[index] === true;
  }

  noteAsked({ index }: PollTarget, isAsked: boolean): void {
    this.#isAsked[index] = isAsked;
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
