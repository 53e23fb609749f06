/**
 * base: tools that know nothing about routers.
 *
 * Owns: the clock and everything that waits on it, randomness, errors and how they are printed, secrets, the agent's
 * own log, units of the configuration file (durations, sizes), patterns with bounded run time, JSON of other sides, packed lines and numbers, orderly shutdown, files that must not be readable by all.
 * Does not own: anything that knows what a router, a log record or a metric is.
 * Start reading at: clock.ts, errors.ts.
 */
export { type BackoffBounds, computeBackoffMs } from './backoff.ts';
export { type Deadline, DeadlineExceeded, Mutex, openDeadline, untilAborted } from './bounded-waits.ts';
export { ByteLine, cutLines, joinLines, LineRanges, LineTable, toPieces } from './byte-line.ts';
export {
  type Clock,
  createSteppedClock,
  createSystemClock,
  type SteppedClock,
  StepQueue,
  Steps,
  sleepOn,
  type Timer,
  yieldToLoop,
} from './clock.ts';
export { ensureFile } from './ensure-file.ts';
export { CodedError, type CodedErrorOptions, type Disposition, explainError, renderErrorChain } from './errors.ts';
export { isSelected, matchesStars } from './globs.ts';
export { decodeObject, isPlainObject, parseJson, readInteger, readString } from './json.ts';
export { Lifecycle, type StopFault } from './lifecycle.ts';
export {
  createLogger,
  escapeForTerminal,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  toPrintable,
} from './logger.ts';
export { createNumbers, packBytes, packLines, readPackedSize, unpackLines } from './packed-lines.ts';
export { compilePattern, type Pattern, PatternError, type PatternFailure } from './pattern.ts';
export { createSeededRandom, hashToUnit, type Random, systemRandom } from './random.ts';
export { Secret, type SecretSource } from './secret.ts';
export { parseByteSize, parseDuration, renderDuration } from './units.ts';
export { readVersion } from './version.ts';
export { ZoneOffsets } from './zone-offsets.ts';
