import { renderDuration } from '../../../base/index.ts';
import type { PreflightFinding, PreflightFleet } from '../../contracts.ts';
import { askLokiVersion } from '../../http/loki-version.ts';
import type { HttpPost, SinkHttpClient } from '../../http/sink-http-client.ts';
import { LINE_BYTES_MAX } from './entry.ts';
import { COMPONENTS_PER_ROUTER, countStreams, FUTURE_MS_MAX, type LokiLayout } from './layout.ts';
import { decodeLokiLimits, type LokiLimits } from './limits.ts';

/** The settings to compare with Loki's limits. */
interface ComparedSettings {
  /** Streams that the tenant may have. */
  readonly streamLimit: number;
  /** Age at which Loki rejects lines; 0 = no limit. Milliseconds. */
  readonly maxAgeMs: number;
  /** Labels and structured metadata of the streams. */
  readonly layout: LokiLayout;
}

/** Maximum size of Loki's `/config`, usually a few hundred kilobytes. Bytes. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024;

/** Asks Loki whether it is ready. Returns no finding when a gateway does not forward the request. */
export async function askReady(client: SinkHttpClient, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
  const answer = await askOptional(() => client.get('/ready', signal), signal);
  if (answer?.status === 200) return [{ step: 'ready', verdict: 'ok', message: 'Loki is ready' }];
  if (answer?.status !== 503) return [];
  return [{ step: 'ready', verdict: 'warning', message: `Loki is not ready: ${answer.quote(answer.body)}` }];
}

/** A push that no receiver can take. */
const BROKEN_PUSH = { contentType: 'application/json', body: '{"streams":', isAnswerCut: true } as const;
const BROKEN_STATUSES: ReadonlySet<number | undefined> = new Set([400, 422]);

/**
 * Returns true if the receiver is known to be another one than Loki that speaks its push API: it does not tell Loki's version, and refuses
 * a push that is broken, which a server that answers every request with 200 does not. `push`: path and headers of a push.
 */
export async function isOtherReceiver(
  client: SinkHttpClient,
  push: Pick<HttpPost, 'path' | 'headers'>,
  signal: AbortSignal,
): Promise<boolean> {
  const basePath = push.path === undefined ? undefined : new URL(client.place).pathname;
  if (basePath !== undefined && (await askLokiVersion(client, basePath, signal)) !== undefined) return false;
  const answer = await askOptional(() => client.post({ ...push, ...BROKEN_PUSH }, signal), signal);
  return BROKEN_STATUSES.has(answer?.status);
}

/** Asks Loki for its limits; most gateways hide them. */
export async function askLimits(client: SinkHttpClient, signal: AbortSignal): Promise<LokiLimits | undefined> {
  const answer = await askOptional(() => client.get('/config', signal, CONFIG_BYTES_MAX), signal);
  return answer?.status === 200 ? decodeLokiLimits(answer.body) : undefined;
}

/** Compares the fleet and the settings of the sink with Loki's limits. */
export function compareLimits(
  { layout, streamLimit, maxAgeMs }: ComparedSettings,
  fleet: PreflightFleet,
  limits: LokiLimits | undefined,
): readonly PreflightFinding[] {
  const findings: PreflightFinding[] = [compareStreams(layout, streamLimit, fleet, limits)];
  if (!limits) {
    const message = 'Loki does not expose its settings (/config), so only those of this sink were checked';
    return [...findings, { step: 'limits', verdict: 'ok', message }];
  }
  const warn = (step: string, message: string, hint: string) =>
    findings.push({ step, verdict: 'warning', message, hint });

  const { rejectOldSamples = true, rejectOldSamplesMaxAgeMs: ageMs = 0 } = limits;
  const lokiMaxAgeMs = rejectOldSamples ? ageMs : 0;
  if (lokiMaxAgeMs > 0 && (maxAgeMs === 0 || maxAgeMs > lokiMaxAgeMs)) {
    const age = renderDuration(lokiMaxAgeMs);
    const message = `reject_old_samples_max_age is ${age}, and max_age of this sink is ${renderAge(maxAgeMs)}: Loki refuses lines in between`;
    warn('age window', message, `Set max_age of this sink to ${age}, or raise the limit of Loki`);
  } else if (maxAgeMs > 0 && maxAgeMs !== lokiMaxAgeMs) {
    const window =
      lokiMaxAgeMs === 0 ? 'Loki accepts lines of any age' : `Loki accepts lines up to ${renderAge(lokiMaxAgeMs)} old`;
    const message = `${window}, and max_age of this sink is ${renderAge(maxAgeMs)}: older lines are not sent`;
    warn('age window', message, `Set max_age of this sink to ${lokiMaxAgeMs === 0 ? '0' : renderAge(lokiMaxAgeMs)}`);
  }
  const { creationGracePeriodMs: graceMs } = limits;
  if (graceMs !== undefined && graceMs < FUTURE_MS_MAX) {
    const message = `creation_grace_period is ${renderDuration(graceMs)}: Loki refuses lines of routers whose clocks are further ahead`;
    warn('future window', message, `Raise creation_grace_period to ${renderDuration(FUTURE_MS_MAX)}`);
  }
  const { maxLineSizeBytes: lineBytes = 0, maxLineSizeTruncate = false } = limits;
  if (lineBytes > 0 && lineBytes < LINE_BYTES_MAX && !maxLineSizeTruncate) {
    const message = `max_line_size is ${lineBytes} bytes: Loki refuses longer lines, and this sink truncates only above ${LINE_BYTES_MAX} bytes`;
    warn('line size', message, 'Raise max_line_size, or set max_line_size_truncate');
  }
  if (limits.allowStructuredMetadata === false) {
    const message = 'allow_structured_metadata is false: Loki refuses every record';
    const hint = 'Set allow_structured_metadata, which needs a schema of version 13 or later';
    findings.push({ step: 'structured metadata', verdict: 'failed', message, hint });
  }
  if (limits.incrementDuplicateTimestamp) {
    const message = 'increment_duplicate_timestamp is set: Loki changes times and stores a line sent again twice';
    warn('timestamps', message, 'Set increment_duplicate_timestamp to false');
  }
  return findings;
}

function compareStreams(
  layout: LokiLayout,
  streamLimit: number,
  fleet: PreflightFleet,
  limits: LokiLimits = {},
): PreflightFinding {
  const step = 'stream limit';
  const needed = countStreams(fleet, layout);
  const need = `${fleet.routers} routers with ${COMPONENTS_PER_ROUTER} logs each need about ${needed} streams in layout ${layout.kind}`;
  const hint =
    layout.kind === 'router'
      ? 'Raise the limit, or set layout of this sink to shard'
      : 'Raise the limit, or lower shards of this sink';
  const shown = (['maxGlobalStreamsPerUser', 'maxStreamsPerUser'] as const)
    .map((key) => ({ key: KEYS[key], limit: limits[key] ?? 0 }))
    // 0 = no limit.
    .filter(({ limit }) => limit > 0);
  const [lowest] = [...shown, { key: 'stream_limit of this sink', limit: streamLimit }].toSorted(
    (one, other) => one.limit - other.limit,
  );
  if (lowest && needed > lowest.limit) {
    return { step, verdict: 'warning', message: `${need}, but ${lowest.key} is ${lowest.limit}`, hint };
  }
  const below = shown.find(({ limit }) => limit < streamLimit);
  if (below) {
    const message = `${below.key} is ${below.limit}, and stream_limit of this sink is ${streamLimit}: the sink may open too many streams`;
    return { step, verdict: 'warning', message, hint: `Set stream_limit of this sink to ${below.limit}` };
  }
  return { step, verdict: 'ok', message: need };
}

const KEYS = {
  maxGlobalStreamsPerUser: 'max_global_streams_per_user',
  maxStreamsPerUser: 'max_streams_per_user',
} as const;

function renderAge(ageMs: number): string {
  return ageMs === 0 ? 'unlimited' : renderDuration(ageMs);
}

/** Ignores failures: the test push shows whether the sink works. */
async function askOptional<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
