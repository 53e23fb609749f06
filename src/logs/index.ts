/**
 * logs: from a router's log files to records, each line once.
 *
 * Owns: what is listed and what of it is safe to ask for, following a file from `current` into its archive, archive
 * formats, lines and their times, the identity of lines, gaps.
 * Does not own: where records and positions are kept, and when a router is read.
 * Start reading at: tail/tail-once.ts and tail/component-tail.ts, then the diagram in position/position.ts and
 * tracker/step.ts; for lines file-scan.ts and lines/record-builder.ts; for gaps and other events event-records.ts.
 *
 *   tail/           one run over the logs of a router: what is asked for, in which order, and what becomes durable
 *   tracker/        decisions: the next position of a log, what may be read now, and what is lost
 *   position/       where a log stands: identity of its files, and the stored form
 *   evidence/       what rotations and answers show of a router: its zone, and how its files follow each other
 *   lines/          from the bytes of a file to lines, and from lines to records
 *   time/           stamps of lines, time zones, and the clock of a router
 *   archive/        decompression, and the reading of rotated files, in worker threads
 *   line-settings/  settings of log rules and redaction
 *
 * The files beside this one read a file (file-*.ts) and describe events. docs/log-source.md describes all of it.
 */
export { type ArchivePool, isBinary, openArchivePool, SNIFF_BYTES, sniffFormat } from './archive/index.ts';
export type {
  BodyFacts,
  LogEvent,
  LogSource,
  ReadLogOptions,
  RecordLog,
  RouterTime,
} from './contracts.ts';
export { unshippedStateOf } from './errors.ts';
export type { LinkVerdict } from './evidence/link-rule.ts';
export {
  findOffsetEvidence,
  findToldOffsetMs,
  isDateLocal,
  judgeRotations,
  type OffsetEvidence,
} from './evidence/offset-evidence.ts';
export { examineHead } from './file-head.ts';
export { checkLogRule, listLabels } from './line-settings/check-log-rule.ts';
export {
  LOG_RULES_MAX,
  type LogRuleSettings,
  logRulesSchema,
  REDACT_MAX,
  type RedactSettings,
  redactSchema,
  ruleSchema,
  SHIPPED_RULES_WORD,
  type WrittenRule,
  type WrittenRules,
} from './line-settings/log-rule-schema.ts';
export { resolveRedact } from './line-settings/redact.ts';
export { type LogSettings, type LogStart, logsSchema } from './log-settings.ts';
export { LineMatcher, MatchTotals, type RuleMatch } from './matching/line-matcher.ts';
export { type CostlyPattern, listCostlyPatterns, SAMPLE_LINE_CHARS } from './matching/pattern-cost.ts';
export { RuleSeries } from './matching/rule-series.ts';
export { type ListedLog, type Listing, parseListing, parseStampUtcMs } from './names.ts';
export { SHIPPED_RULES } from './shipped-rules.ts';
export { type KnownGap, noteGap, noteGapEnd } from './tail/known-gaps.ts';
export { TailMemory } from './tail/memory.ts';
export { readKnownGaps } from './tail/router-facts.ts';
export { type TailOnceOptions, tailOnce } from './tail/tail-once.ts';
export { Zone } from './time/zone.ts';
