import type { PreflightFinding } from '../../contracts.ts';
import { askLokiVersion } from '../../http/loki-version.ts';
import type { SinkHttpClient } from '../../http/sink-http-client.ts';

/** Loki's OTLP path. */
const LOKI_OTLP_PATH = /\/otlp(\/v1\/logs)?\/*$/;

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
  const version = await askLokiVersion(client, base.pathname, signal);
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
