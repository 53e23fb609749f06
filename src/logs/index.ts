/**
 * logs: from a router's log files to records, each line once.
 *
 * Owns: what is listed and what of it is safe to ask for, following a file from `current` into its archive, archive
 * formats, lines and their times, the identity of lines, gaps.
 * Does not own: where records and positions are kept, and when a router is read.
 * Start reading at: tail-once.ts, component-tail.ts, then the diagram in position/position.ts and tracker/step.ts; for lines record-builder.ts.
 */
export { type ArchivePool, openArchivePool, SNIFF_BYTES, sniffFormat } from './archive/index.ts';
export type {
  BodyFacts,
  LogEvent,
  LogSource,
  ReadLogOptions,
  RecordLog,
  RouterTime,
} from './contracts.ts';
export { checkLogRule, listLabels } from './line-settings/check-log-rule.ts';
export {
  LOG_RULES_MAX,
  type LogRuleSettings,
  logRulesSchema,
  REDACT_MAX,
  type RedactSettings,
  redactSchema,
  renderLogRule,
  ruleSchema,
  SHIPPED_RULES_WORD,
  toLogRule,
  type WrittenRule,
  type WrittenRules,
} from './line-settings/log-rule-schema.ts';
export { resolveRedact } from './line-settings/redact.ts';
export type { LinkVerdict } from './link-rule.ts';
export { type LogSettings, type LogStart, logsSchema, renderLogs, resolveLogs } from './log-settings.ts';
export { LineMatcher, MatchTotals, type RuleMatch } from './matching/line-matcher.ts';
export { RuleSeries } from './matching/rule-series.ts';
export { type ListedLog, type Listing, parseListing } from './names.ts';
export { findOffsetEvidence, findToldOffsetMs, judgeRotations, type OffsetEvidence } from './offset-evidence.ts';
export { SHIPPED_RULES } from './shipped-rules.ts';
export { TailMemory } from './tail-memory.ts';
export { type TailOnceOptions, tailOnce } from './tail-once.ts';
export { Zone } from './zone.ts';
