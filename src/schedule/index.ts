/**
 * schedule: when something may be done.
 *
 * Owns: due times and their spread, one turn at a time per router, the bound on turns, back-off, what a budget of bytes
 * allows, the rhythm of sinks.
 * Does not own: what is done in a turn, and the counting of bytes.
 * Start reading at: scheduler.ts (routers), byte-budget.ts (their cost), pump.ts (sinks).
 */
export type { Activity, TriggerOutcome, Turn, TurnEnded, TurnOutcome } from './activity.ts';
export { ByteBudget, type ByteBudgetOptions, type BytesUsed, type StretchKind } from './byte-budget.ts';
export { Pump, type PumpOptions, type PumpOutcome } from './pump.ts';
export { Scheduler, type SchedulerOptions } from './scheduler.ts';
