/**
 * schedule: decides when things run.
 *
 * Owns: due times and their spread, one run at a time per router, the limit on concurrent runs, back-off, the effect of
 * a byte budget, the timing of sinks.
 * Does not own: what a run does, the counting of bytes, and waits that a router asks for (router).
 * Start reading at: scheduler.ts (routers), byte-budget.ts and shared-budget.ts (their cost), retry-loop.ts (sinks).
 */
export type { Activity, CurrentRun, RunEnded, RunOutcome } from './activity.ts';
export { type BudgetedActivity, ByteBudget, type BytesUsed } from './byte-budget.ts';
export { type AnsweredPoll, findMedian, type Pace, type PaceIntervals, PaceMemory } from './pace.ts';
export { RetryLoop, type RetryLoopOptions, type RetryLoopOutcome } from './retry-loop.ts';
export type { RunLoad } from './run-pool.ts';
export { Scheduler } from './scheduler.ts';
export { findRunsMax, type ScheduleSettings, scheduleSchema } from './settings.ts';
export {
  type BudgetPart,
  SharedBudget,
  type SharedBytesUsed,
} from './shared-budget.ts';
