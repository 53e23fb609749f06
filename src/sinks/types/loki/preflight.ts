import { parseDocument } from 'yaml';
import { z } from 'zod';
import { decodeObject, parseByteSize, parseDuration, parseJson, renderDuration } from '../../../base/index.ts';
import type { PreflightFinding, PreflightFleet } from '../../contracts.ts';
import type { HttpPost, SinkHttpClient } from '../../http/client.ts';
import { FUTURE_MS_MAX, LINE_BYTES_MAX, type LokiLayout } from './push.ts';

interface ComparedSettings {
  readonly stream_limit: number;
  readonly max_age: number;
}

/** Assumed number of components, and thus streams, per router. */
const COMPONENTS_PER_ROUTER = 10;

const BUILD_INFO_PATH = '/loki/api/v1/status/buildinfo';

/** Maximum size of Loki's `/config`, usually a few hundred kilobytes. Bytes. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024;

/** Returns true when each router may have its own streams. Half of the limit is reserved for the lanes and other clients. */
export function fitsRouterLayout(routers: number, streamLimit: number): boolean {
  return routers * COMPONENTS_PER_ROUTER <= streamLimit / 2;
}

/** Requests the version of the Loki below `basePath`; `undefined` if it is not known to be Loki. Throws only when aborted. */
export async function askLokiVersion(
  client: SinkHttpClient,
  basePath: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `${basePath.replace(/\/+$/, '')}${BUILD_INFO_PATH}`;
  const answer = await askOptional(() => client.getFromRoot(path, signal), signal);
  const { version, revision } = (answer?.status === 200 && decodeObject(parseJson(answer.body))) || {};
  return typeof version === 'string' && typeof revision === 'string' ? answer?.quote(version) : undefined;
}

/** Checks whether Loki is ready. Returns no finding when a gateway does not forward the request. */
async function askReady(client: SinkHttpClient, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
  const answer = await askOptional(() => client.get('/ready', signal), signal);
  if (answer?.status === 200) return [{ step: 'ready', verdict: 'ok', message: 'Loki is ready' }];
  if (answer?.status !== 503) return [];
  return [{ step: 'ready', verdict: 'warning', message: `Loki is not ready: ${answer.quote(answer.body)}` }];
}

/** A push that every receiver rejects. */
const BROKEN_PUSH = { contentType: 'application/json', body: '{"streams":', isAnswerCut: true } as const;
const BROKEN_STATUSES: ReadonlySet<number | undefined> = new Set([400, 422]);

/**
 * Returns true if the receiver is known to speak Loki's push API without being Loki: it reports no Loki version, and rejects
 * an invalid push, which a server that answers every request with 200 does not. `push`: path and headers of a push.
 */
export async function isOtherReceiver(
  client: SinkHttpClient,
  push: Pick<HttpPost, 'path' | 'headers'>,
  signal: AbortSignal,
): Promise<boolean> {
  const basePath = push.path === undefined ? undefined : client.basePath;
  if (basePath !== undefined && (await askLokiVersion(client, basePath, signal)) !== undefined) return false;
  const answer = await askOptional(() => client.post({ ...push, ...BROKEN_PUSH }, signal), signal);
  return BROKEN_STATUSES.has(answer?.status);
}

async function askLimits(client: SinkHttpClient, signal: AbortSignal): Promise<LokiLimits | undefined> {
  const answer = await askOptional(() => client.get('/config', signal, CONFIG_BYTES_MAX), signal);
  return answer?.status === 200 ? decodeLokiLimits(answer.body) : undefined;
}

/**
 * Checks whether Loki is ready, and compares the fleet and the settings of the sink with Loki's limits. `client` is absent
 * when the paths for that are unknown.
 */
export async function checkLokiLimits(
  client: SinkHttpClient | undefined,
  layout: LokiLayout,
  settings: ComparedSettings,
  fleet: PreflightFleet,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const ready = client ? await askReady(client, signal) : [];
  const limits = client ? await askLimits(client, signal) : undefined;
  return [...ready, ...compareLimits(layout, settings, fleet, limits)];
}

function compareLimits(
  layout: LokiLayout,
  { stream_limit: streamLimit, max_age: maxAgeMs }: ComparedSettings,
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

  const { reject_old_samples: rejectsOld = true, reject_old_samples_max_age: ageMs = 0 } = limits;
  const lokiMaxAgeMs = rejectsOld ? ageMs : 0;
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
  const { creation_grace_period: graceMs } = limits;
  if (graceMs !== undefined && graceMs < FUTURE_MS_MAX) {
    const message = `creation_grace_period is ${renderDuration(graceMs)}: Loki refuses lines of routers whose clocks are further ahead`;
    warn('future window', message, `Raise creation_grace_period to ${renderDuration(FUTURE_MS_MAX)}`);
  }
  const { max_line_size: lineBytes = 0, max_line_size_truncate: isTruncating = false } = limits;
  if (lineBytes > 0 && lineBytes < LINE_BYTES_MAX && !isTruncating) {
    const message = `max_line_size is ${lineBytes} bytes: Loki refuses longer lines, and this sink truncates only above ${LINE_BYTES_MAX} bytes`;
    warn('line size', message, 'Raise max_line_size, or set max_line_size_truncate');
  }
  if (limits.allow_structured_metadata === false) {
    const message = 'allow_structured_metadata is false: Loki refuses every record';
    const hint = 'Set allow_structured_metadata, which needs a schema of version 13 or later';
    findings.push({ step: 'structured metadata', verdict: 'failed', message, hint });
  }
  if (limits.increment_duplicate_timestamp) {
    const message = 'increment_duplicate_timestamp is set: Loki changes times and stores a line sent again twice';
    warn('timestamps', message, 'Set increment_duplicate_timestamp to false');
  }
  return findings;
}

function compareStreams(
  layout: LokiLayout,
  streamLimit: number,
  fleet: PreflightFleet,
  limits: Partial<LokiLimits> = {},
): PreflightFinding {
  const step = 'stream limit';
  const needed = countStreams(fleet, layout);
  const need = `${fleet.routers} routers with ${COMPONENTS_PER_ROUTER} logs each need about ${needed} streams in layout ${layout.kind}`;
  const hint =
    layout.kind === 'router'
      ? 'Raise the limit, or set layout of this sink to shard'
      : 'Raise the limit, or lower shards of this sink';
  const shown = (['max_global_streams_per_user', 'max_streams_per_user'] as const)
    .map((key) => ({ key, limit: limits[key] ?? 0 }))
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

/** Returns the number of streams that a fleet needs in the live lane. */
function countStreams({ routers, labelValues }: PreflightFleet, layout: LokiLayout): number {
  // Routers of one bucket with different sites have different streams.
  const buckets = layout.kind === 'router' ? routers : layout.shards * Math.max(1, labelValues['site'] ?? 1);
  return Math.min(routers, buckets) * COMPONENTS_PER_ROUTER;
}

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

const count = z.int().nonnegative().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);
/** A duration as Prometheus (`1w`) or Go (`168h0m0s`) writes it. Milliseconds. */
const duration = z
  .string()
  .transform((text) => parseDuration(text))
  .optional()
  .catch(undefined);
/** A size. `256KB` is 262144: Loki's units are powers of 1024. Bytes. */
const size = z
  .union([
    z.int().nonnegative(),
    z.string().transform((text) => parseByteSize(text.replace(/^([\d.]+)([KMGT])i?B$/i, '$1$2iB'))),
  ])
  .optional()
  .catch(undefined);

/** Loki's settings with the limits that concern the sink; `undefined` = not shown. */
const settingsSchema = z.object({
  limits_config: z.object({
    max_global_streams_per_user: count,
    max_streams_per_user: count,
    reject_old_samples: flag,
    reject_old_samples_max_age: duration,
    creation_grace_period: duration,
    max_line_size: size,
    max_line_size_truncate: flag,
    allow_structured_metadata: flag,
    increment_duplicate_timestamp: flag,
  }),
});
type LokiLimits = z.output<typeof settingsSchema>['limits_config'];

/** Reads `limits_config` of the YAML at Loki's `/config`; `undefined` when there is none. The text is untrusted. */
function decodeLokiLimits(text: string): LokiLimits | undefined {
  try {
    const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false });
    if (document.errors.length > 0) return undefined;
    // Loki's YAML has no aliases; a hostile document could expand them without end.
    return z.safeParse(settingsSchema, document.toJS({ maxAliasCount: 0 })).data?.limits_config;
  } catch {
    return undefined;
  }
}
