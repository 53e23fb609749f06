import { Agent, type buildConnector } from 'undici';

/**
 * How the socket of a connection that is kept is opened. An idle one shows a sign of life every minute, so that neither a
 * firewall nor an end forgets it.
 */
export const KEPT_SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

const DEFAULT_PORT: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** Host without brackets, and port, of what undici and URLs call a target. */
export function toAddress({
  hostname,
  port,
  protocol,
}: Pick<buildConnector.Options, 'hostname' | 'port' | 'protocol'>): {
  readonly host: string;
  readonly port: number;
} {
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) || (DEFAULT_PORT[protocol] ?? 0) };
}

export interface OneConnectionOptions {
  /** How long an idle connection is kept, unless the other side announces less. Milliseconds. */
  readonly keepAliveMs: number;
  /** Waits for the end that the other side has announced, instead of ending the connection just before it. Default false. */
  readonly isEndAwaited?: boolean | undefined;
  /** Opens the connection. */
  readonly connect: buildConnector.connector;
}

/** An HTTP client with one kept connection, and no limits of time of its own. */
export function createOneConnectionAgent({ keepAliveMs, isEndAwaited, connect }: OneConnectionOptions): Agent {
  return new Agent({
    connections: 1,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // undici ends a connection this much sooner than the other side announces.
    ...(isEndAwaited === true && { keepAliveTimeoutThreshold: -keepAliveMs }),
    // Exact limits come from signals; undici's own timers are coarse and would only interfere.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  });
}
