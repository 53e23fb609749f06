/**
 * schedule: decides when work runs.
 *
 * Owns: due times and their spread, one run at a time per router, the limit on concurrent runs, back-off, the effect of
 * a byte budget and of slow answers, the timing of sinks.
 * Does not own: what a run does, the counting of bytes, and waits that a router asks for (agent).
 * Start reading at: scheduler.ts. The other files: activity.ts (what it runs), fixed-rate.ts (scheduled times and
 * back-off of one activity), run-queues.ts (what is due next, and slots for concurrent runs), byte-budget.ts (daily
 * bytes of a router), throttle.ts (longer intervals for slow routers), step-loop.ts (the loop of a sink), settings.ts.
 */
export type { Activity, CurrentRun, RunEnded, RunOutcome } from './activity.ts';
export {
  type BudgetedActivity,
  type BudgetPart,
  ByteBudget,
  type BytesUsed,
  SharedBudget,
} from './byte-budget.ts';
export type { RunLoad } from './run-queues.ts';
export { Scheduler } from './scheduler.ts';
export { findRunsMax, type ScheduleSettings, scheduleSchema } from './settings.ts';
export { StepLoop, type StepLoopOptions, type StepLoopOutcome } from './step-loop.ts';
export { type AnsweredPoll, findMedian, type Throttle, type ThrottleIntervals, ThrottleMemory } from './throttle.ts';
