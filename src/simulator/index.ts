/**
 * simulator: a router one can trust to misbehave on command.
 *
 * Owns: a fleet of simulated routers, each with its REST interface over HTTP(S), accounts and tokens, configuration in
 * profiles, status that moves with its clock, log writer with rotation and real bzip2 archives, and the truth about what
 * it wrote and lost; the faults that can be switched on, and the port through which other programs direct it all.
 * Does not own: any code of the modules that talk to routers; sharing it would hide the same mistake on both sides.
 * Start reading at: simulator.ts and open-router.ts, then device.ts (state), rest-app.ts (interface),
 * configuration/resource.ts (what can be configured), life/device-life.ts (status), log-writer.ts (logs),
 * fault-injector.ts (faults), openapi/describe-interface.ts (description), control-actions.ts (control port).
 * docs/simulator.md is for users.
 */

export type { StatusOverride } from './life/status-override.ts';
export type { LogLoss } from './log-generation.ts';
export type { LogSeverity } from './log-line.ts';
export type { TruthLine } from './log-truth.ts';
export { type DescriptionOptions, describeInterface } from './openapi/describe-interface.ts';
export type { RouterCounts } from './router-counters.ts';
export { FAULT_NAMES, type FaultName, type FaultOptions, isFaultName } from './router-faults.ts';
export type { SimulatedRouter } from './simulated-router.ts';
export { type Simulator, startSimulator } from './simulator.ts';
export { SimulatorError, type SimulatorErrorCode } from './simulator-error.ts';
export {
  demoLogSettings,
  deviceLogSettings,
  type LogSettings,
  plainRestFeatures,
  type RestFeatures,
  type SimulatorOptions,
} from './simulator-options.ts';
