/**
 * simulator: simulated routers for tests and demonstrations, with faults on command.
 *
 * Owns: a fleet of simulated routers, each with its REST interface over HTTP(S), accounts and tokens, configuration profiles, status that
 * changes with its clock, a log writer with rotation and real bzip2 archives, and a record of all lines written and lost; faults that can
 * be switched on, and the control port.
 * Does not own: any code of the modules that talk to routers; sharing it would hide the same mistake on both sides.
 * Start reading at: simulator.ts, then the file or folder in question.
 *
 *   server.ts            listeners over HTTP(S), one per router; tls.ts: their certificates
 *   device/              state of one router: hardware, clock, counters, accounts and tokens
 *   rest/                the REST interface: app.ts has the routes, one file per area
 *   configuration/       configuration resources and profiles
 *   life/                status that changes with the clock
 *   log-files/           log writer, rotation, generated lines and the record of all lines; archives/: bzip2
 *   faults/              the faults that can be switched on
 *   bundle-file.ts       the file of a bundle: answers of a device; rest/recording.ts: the same answers again
 *   captured-answers.ts  answers from memory, of thousands of routers for measurements
 *   control.ts           control port for other programs
 *   openapi/             description of the interface
 *
 * docs/simulator.md is for users.
 */

export {
  ANSWERS_MAX,
  type Bundle,
  type BundledAnswer,
  LOG_LISTING,
  readBundle,
  renderBundle,
} from './bundle-file.ts';
export type { RouterCounts } from './device/router-counters.ts';
export { FAULT_NAMES, type FaultName, type FaultOptions, isFaultName } from './faults/router-faults.ts';
export type { StatusOverride } from './life/life-context.ts';
export type { LogLoss, TruthLine } from './log-files/folder.ts';
export type { LogSeverity } from './log-files/writer.ts';
export { type DescriptionOptions, describeInterface } from './openapi/describe-interface.ts';
export type { SimulatedRouter } from './simulated-router.ts';
export { type Simulator, startSimulator } from './simulator.ts';
export { SimulatorError, type SimulatorErrorCode } from './simulator-error.ts';
export {
  type CapturedBodies,
  demoLogSettings,
  deviceLogSettings,
  type LogSettings,
  plainRestFeatures,
  type RestFeatures,
  type SimulatorOptions,
} from './simulator-options.ts';
