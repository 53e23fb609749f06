import type { PreflightFinding } from '../../contracts.ts';
import type { SinkHttpClient } from '../../http/sink-http-client.ts';
import { toWords } from '../../http/words.ts';

/** Loki takes OTLP below this path. */
const LOKI_OTLP_PATH = /\/otlp(\/v1\/logs)?\/*$/;
/** What Loki says about itself, whoever asks. */
const BUILD_INFO_PATH = '/loki/api/v1/status/buildinfo';

/**
 * Asks whether Loki takes what is sent to `url`. Over OTLP all logs of a router share streams there, and Loki refuses what is
 * more than an hour older than the newest line of its stream: most of what is read after an outage or from archives.
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
      message: `What answers is Loki ${version}: over OTLP, logs share streams there, and it refuses lines that are an hour older than the newest of their stream`,
      hint: `Use type loki with the url ${base.href.replace(/\/+$/, '')}`,
    },
  ];
}

async function askVersion(client: SinkHttpClient, base: URL, signal: AbortSignal): Promise<string | undefined> {
  try {
    const place = `${base.pathname.replace(/\/+$/, '')}${BUILD_INFO_PATH}`;
    const { status, body } = await client.getFromRoot(place, signal);
    if (status !== 200) return undefined;
    const { version, revision }: { version?: unknown; revision?: unknown } = JSON.parse(body) ?? {};
    return typeof version === 'string' && typeof revision === 'string' ? toWords(version) : undefined;
  } catch {
    signal.throwIfAborted();
    // No JSON, or nobody there: the test record tells.
    return undefined;
  }
}
