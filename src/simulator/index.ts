/**
 * simulator: a router one can trust to misbehave on command.
 *
 * Owns: a fleet of simulated routers, each with its REST interface over HTTP(S), token life cycle, log writer with
 * rotation and real bzip2 archives, a clock of its own, and the truth about what it wrote and lost.
 * Does not own: any code of the rooms that talk to routers; sharing it would hide the same mistake on both sides.
 * Start reading at: simulator.ts, then device.ts (state), rest-app.ts (interface), log-writer.ts (logs).
 */
export type { LogLoss } from './log-generation.ts';
export type { TruthLine } from './log-truth.ts';
export type { RouterCounts } from './router-counters.ts';
export type { SimulatedRouter } from './simulated-router.ts';
export { type Simulator, startSimulator } from './simulator.ts';
export { SimulatorError, type SimulatorErrorCode } from './simulator-error.ts';
export { demoLogSettings, deviceLogSettings, type LogSettings, type SimulatorOptions } from './simulator-options.ts';
