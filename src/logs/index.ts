/**
 * logs: reads a router's log files and turns each line into one record.
 *
 * Owns: the listing of log files, following a file from `current` into its archive, archive formats, lines and their
 * times, the identity of lines, and gaps.
 * Does not own: the store of records and positions, and the schedule of reading.
 * Start reading at: follow/follow-once.ts and follow/log-follower.ts, then the diagram in position/position.ts and
 * step/step.ts. Lines: reading/file-reading.ts and records/record-builder.ts. Gaps: position/gap.ts and
 * step/losses.ts.
 *
 * A folder imports only folders above it in this list; `time` and `rules` do not import each other, nor do `step` and `records`:
 *
 *   time/      stamps of lines, time zones, the router's clock
 *   rules/     settings of logs, log rules and redaction, and their matching
 *   listing/   the file listing of a router, its zone, and the rule that links consecutive files
 *   position/  the stored position of a log, identity of files and lines, gaps
 *   step/      decisions: the next position, whether a file may be read now, and what is lost
 *   records/   from bytes to lines, and from lines and events to records
 *   reading/   one reading of one file: its format, its identity, its lines
 *   archive/   decompression and reading of rotated files in worker threads
 *   follow/    one run over the logs of a router: order of reading, facts about the router, commits
 *
 * docs/log-source.md describes the behaviour.
 */
export { type ArchivePool, openArchivePool } from './archive/archive-pool.ts';
export type { FollowOptions, LogEvent, LogSource, RecordLog } from './follow/contracts.ts';
export { followOnce } from './follow/follow-once.ts';
export { FollowMemory } from './follow/memory.ts';
export { addKnownGap, endKnownGap, readKnownGaps } from './follow/router-facts.ts';
export { findReportedOffsetMs, isDateLocal, type RouterTime } from './listing/learnt-zone.ts';
export { judgeRotations, type LinkVerdict, type OffsetEvidence } from './listing/link-rule.ts';
export { type ListedLog, type Listing, parseListing, parseStampUtcMs } from './listing/listing.ts';
export { renderEventUid } from './position/identity.ts';
export type { KnownGap } from './position/position.ts';
export { unshippedStateOf } from './reading/errors.ts';
export { examineHead, findOffsetEvidence } from './reading/file-head.ts';
export { isBinary, SNIFF_BYTES, sniffFormat } from './reading/text.ts';
export {
  type CostlyPattern,
  LineMatcher,
  listCostlyPatterns,
  MatchTotals,
  SAMPLE_LINE_CHARS,
} from './rules/line-matcher.ts';
export {
  checkLogRule,
  LOG_RULES_MAX,
  type LogRuleSettings,
  type LogSettings,
  listLabels,
  logRulesSchema,
  logsSchema,
  REDACT_MAX,
  type RedactSettings,
  redactSchema,
  resolveRedact,
  ruleSchema,
  SHIPPED_RULES_WORD,
  type WrittenRules,
} from './rules/settings.ts';
export { SHIPPED_RULES } from './rules/shipped-rules.ts';
export { Zone } from './time/zone.ts';
