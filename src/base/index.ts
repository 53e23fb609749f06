/**
 * base: tools that know nothing about routers.
 *
 * Owns: the clock and waiting, randomness, errors and their printed form, secrets, the agent's own log, units of the configuration file
 * (durations, sizes), patterns with bounded run time, JSON from other systems, packed lines and numbers, orderly shutdown, files that
 * must not be world-readable.
 * Does not own: anything that knows what a router, a log record or a metric is.
 * Start reading at: clock.ts, errors.ts.
 */
export {
  type Deadline,
  DeadlineExceeded,
  Lifecycle,
  Mutex,
  openDeadline,
  untilAborted,
} from './bounded-waits.ts';
export { ByteLine, cutLines, joinLines, LineRanges, LineTable, toPieces } from './byte-line.ts';
export {
  type Clock,
  createSteppedClock,
  createSystemClock,
  forEachYielding,
  type SteppedClock,
  StepQueue,
  sleepOn,
  type Timer,
  yieldToLoop,
} from './clock.ts';
export { ensureFile } from './ensure-file.ts';
export { CodedError, type CodedErrorOptions, type Disposition, explainError, renderErrorChain } from './errors.ts';
export { decodeObject, isPlainObject, parseJson, readInteger, readString } from './json.ts';
export {
  createLogger,
  escapeForTerminal,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  toPrintable,
} from './logger.ts';
export { createNumbers, packBytes, packLines, readPackedSize, unpackLines } from './packed-lines.ts';
export {
  compilePattern,
  isSelected,
  matchesStars,
  type Pattern,
  PatternError,
} from './pattern.ts';
export {
  type BackoffBounds,
  computeBackoffMs,
  createSeededRandom,
  hashToUnit,
  type Random,
  systemRandom,
} from './random.ts';
export { Secret } from './secret.ts';
export {
  compareNaturally,
  MONTH_DAYS,
  MONTH_MS,
  parseByteSize,
  parseDuration,
  renderBytes,
  renderCount,
  renderDay,
  renderDuration,
  renderLength,
  renderMany,
} from './units.ts';
export { describeVersion, readRevision, readVersion } from './version.ts';
export { openZone, type ZoneOffsets } from './zone-offsets.ts';
