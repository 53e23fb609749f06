/**
 * schedule: when something may be done.
 *
 * Owns: due times and their spread, one turn at a time per router, the bound on turns, back-off, the rhythm of sinks.
 * Does not own: what is done in a turn.
 * Start reading at: scheduler.ts (routers), pump.ts (sinks).
 */
export { Pump, type PumpOptions } from './pump.ts';
export { type Activity, Scheduler, type SchedulerOptions, type TurnEnded } from './scheduler.ts';
