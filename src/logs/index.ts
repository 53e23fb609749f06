/**
 * logs: from a router's log files to records, each line once.
 *
 * Owns: what is listed and what of it is safe to ask for, following a file from `current` into its archive, archive
 * formats, lines and their times, the identity of lines, gaps.
 * Does not own: where records and positions are kept, and when a router is read.
 * Start reading at: follow/follow-once.ts and follow/log-follower.ts, then the diagram in position/position.ts and
 * step/step.ts; for lines reading/file-reading.ts and records/record-builder.ts; for gaps and other events
 * position/event-records.ts.
 *
 * Folders import only those above them here:
 *
 *   time/      stamps of lines, time zones, and the clock of a router
 *   rules/     settings of logs, log rules and redaction, and how rules and redaction find their lines
 *   listing/   what a router lists, and what that shows: its zone, and how its files follow each other
 *   position/  where a log stands: identity of its files and lines, gaps, and the stored form
 *   step/      decisions: the next position of a log, what may be read now, and what is lost
 *   records/   from the bytes of a file to lines, and from lines to records
 *   reading/   one reading of one file: which one it is, and its lines
 *   archive/   decompression, and the reading of rotated files, in worker threads
 *   follow/    one run over the logs of a router: what is asked for, in which order, and what becomes durable
 *
 * docs/log-source.md describes all of it.
 */
export { type ArchivePool, openArchivePool } from './archive/archive-pool.ts';
export type { FollowOptions, LogEvent, LogSource, RecordLog } from './follow/contracts.ts';
export { followOnce } from './follow/follow-once.ts';
export { FollowMemory } from './follow/memory.ts';
export { noteGap, noteGapEnd, readKnownGaps } from './follow/router-facts.ts';
export { findToldOffsetMs, isDateLocal, type RouterTime } from './listing/learnt-zone.ts';
export { judgeRotations, type LinkVerdict, type OffsetEvidence } from './listing/link-rule.ts';
export { type ListedLog, type Listing, parseListing, parseStampUtcMs } from './listing/listing.ts';
export type { KnownGap } from './position/event-records.ts';
export { unshippedStateOf } from './reading/errors.ts';
export { examineHead, findOffsetEvidence } from './reading/file-head.ts';
export { isBinary, SNIFF_BYTES, sniffFormat } from './reading/text.ts';
export {
  type CostlyPattern,
  LineMatcher,
  listCostlyPatterns,
  MatchTotals,
  RuleSeries,
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
