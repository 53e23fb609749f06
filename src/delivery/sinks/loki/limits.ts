import { parseDocument } from 'yaml';
import { parseByteSize, parseDuration } from '../../../base/index.ts';

/** The limits of a Loki that concern the sink; absent = not shown. Durations in milliseconds, sizes in bytes. */
export interface LokiLimits {
  /** 0 = no limit. */
  readonly maxGlobalStreamsPerUser?: number | undefined;
  readonly maxStreamsPerUser?: number | undefined;
  readonly rejectOldSamples?: boolean | undefined;
  readonly rejectOldSamplesMaxAgeMs?: number | undefined;
  readonly creationGracePeriodMs?: number | undefined;
  readonly maxLineSizeBytes?: number | undefined;
  readonly maxLineSizeTruncate?: boolean | undefined;
  readonly allowStructuredMetadata?: boolean | undefined;
  readonly incrementDuplicateTimestamp?: boolean | undefined;
}

/** Reads `limits_config` of the YAML at Loki's `/config`; `undefined` when there is none. The text is untrusted. */
export function decodeLokiLimits(text: string): LokiLimits | undefined {
  const limits = readLimits(text);
  if (limits === undefined) return undefined;
  const read = (key: string): unknown => Reflect.get(limits, key);
  return {
    maxGlobalStreamsPerUser: toCount(read('max_global_streams_per_user')),
    maxStreamsPerUser: toCount(read('max_streams_per_user')),
    rejectOldSamples: toFlag(read('reject_old_samples')),
    rejectOldSamplesMaxAgeMs: toDurationMs(read('reject_old_samples_max_age')),
    creationGracePeriodMs: toDurationMs(read('creation_grace_period')),
    maxLineSizeBytes: toBytes(read('max_line_size')),
    maxLineSizeTruncate: toFlag(read('max_line_size_truncate')),
    allowStructuredMetadata: toFlag(read('allow_structured_metadata')),
    incrementDuplicateTimestamp: toFlag(read('increment_duplicate_timestamp')),
  };
}

function readLimits(text: string): object | undefined {
  try {
    const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false });
    if (document.errors.length > 0) return undefined;
    // Loki's YAML has no aliases; a hostile document could expand them without end.
    const limits: unknown = document.toJS({ maxAliasCount: 0 })?.limits_config;
    return typeof limits === 'object' && limits !== null ? limits : undefined;
  } catch {
    return undefined;
  }
}

function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function toFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** Parses durations as Prometheus (`1w`) or Go (`168h0m0s`) writes them. */
function toDurationMs(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

/** Parses sizes. `256KB` is 262144: Loki's units are powers of 1024. */
function toBytes(value: unknown): number | undefined {
  if (typeof value === 'string') return parseByteSize(value.replace(/^([\d.]+)([KMGT])i?B$/i, '$1$2iB'));
  return toCount(value);
}
