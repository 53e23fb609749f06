/**
 * simulator: a router one can trust to misbehave on command.
 *
 * Owns: a fleet of simulated routers, each with its REST interface over HTTP(S), accounts and tokens, configuration in
 * profiles, status that moves with its clock, log writer with rotation and real bzip2 archives, and the truth about what
 * it wrote and lost; the faults that can be switched on, and the port through which other programs direct it all.
 * Does not own: any code of the modules that talk to routers; sharing it would hide the same mistake on both sides.
 * Start reading at: simulator.ts and open-router.ts, then the folder in question.
 *
 *   device/         state of one router: hardware, clock, counters
 *   server/         listeners over HTTP(S), one per router
 *   rest/           the REST interface: app.ts has the routes, one file per area
 *   sessions/       accounts, tokens, logins
 *   configuration/  what can be configured, in profiles
 *   life/           status that moves with the clock
 *   log-files/      log writer, rotation, archives, lines of a living router, and the truth about them
 *   faults/         the faults that can be switched on
 *   control/        the port through which other programs direct it all
 *   openapi/        description of the interface
 *   stub/           many routers that answer from memory, for measurements
 *   tls/, bzip2/    certificates, and the encoder of archives
 *
 * docs/simulator.md is for users.
 */

export type { RouterCounts } from './device/router-counters.ts';
export { FAULT_NAMES, type FaultName, type FaultOptions, isFaultName } from './faults/router-faults.ts';
export type { StatusOverride } from './life/status-override.ts';
export type { LogLoss } from './log-files/generation.ts';
export type { LogSeverity } from './log-files/line.ts';
export type { TruthLine } from './log-files/truth.ts';
export { type DescriptionOptions, describeInterface } from './openapi/describe-interface.ts';
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
export { readUrl, type ScrapeCounts, Scraper } from './stub/scraper.ts';
export type { StubLogOptions } from './stub/stub-logs.ts';
export {
  type StubCounts,
  type StubManners,
  type StubRouters,
  type StubRoutersOptions,
  startStubRouters,
} from './stub/stub-routers.ts';
