import type { PreflightFinding } from '../../contracts.ts';
import type { SinkHttpClient } from '../../http/sink-http-client.ts';

/** Loki's OTLP path. */
const LOKI_OTLP_PATH = /\/otlp(\/v1\/logs)?\/*$/;
/** Path of Loki's version, available without a login. */
const BUILD_INFO_PATH = '/loki/api/v1/status/buildinfo';

/**
 * Checks whether the receiver at `url` is Loki. Over OTLP, all logs of a router share streams there, and Loki rejects lines
 * more than an hour older than the newest of their stream: most lines read after an outage or from archives.
 */
export async function findLoki(
  client: SinkHttpClient,
  url: string,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const base = new URL(url);
  base.pathname = base.pathname.replace(LOKI_OTLP_PATH, '/').replace(/\/v1\/logs\/*$/, '/');
  const version = await askVersion(client, base, signal);
  if (version === undefined) return [];
  return [
    {
      step: 'receiver',
      verdict: 'warning',
      message: `The receiver is Loki ${version}: over OTLP, logs share streams, and Loki refuses lines an hour older than the newest of their stream`,
      hint: `Use type loki with the url ${base.href.replace(/\/+$/, '')}`,
    },
  ];
}

async function askVersion(client: SinkHttpClient, base: URL, signal: AbortSignal): Promise<string | undefined> {
  try {
    const place = `${base.pathname.replace(/\/+$/, '')}${BUILD_INFO_PATH}`;
    const answer = await client.getFromRoot(place, signal);
    if (answer.status !== 200) return undefined;
    const { version, revision }: { version?: unknown; revision?: unknown } = JSON.parse(answer.body) ?? {};
    return typeof version === 'string' && typeof revision === 'string' ? answer.quote(version) : undefined;
  } catch {
    signal.throwIfAborted();
    // No JSON, or not reachable: the test record shows that.
    return undefined;
  }
}
