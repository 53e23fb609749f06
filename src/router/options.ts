import type { LookupFunction } from 'node:net';
import { type Clock, createSystemClock, Secret } from '../base/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { ConnectionLimit } from './connection/connection-limit.ts';
import type { RouterProxy } from './connection/proxy.ts';
import type { RouterError } from './errors.ts';

/** Values of the key `auth`. */
export const AUTH_MODES = ['token', 'basic', 'bearer', 'none'] as const;

/**
 * Authentication of requests. `token`: login, refresh, logout. `basic`: HTTP basic credentials with each request,
 * for devices that take them. `bearer`: a token of the configuration with each request. `none`: for devices without users,
 * or with a header of the configuration.
 */
type AuthMode = (typeof AUTH_MODES)[number];

/** Event of the session with a router. */
export type SessionEvent =
  | {
      readonly type: 'session-opened' | 'session-refreshed';
      /** Group of the account, as the token says; absent if it does not. */
      readonly group?: string | undefined;
    }
  | { readonly type: 'session-lost'; readonly cause: unknown }
  | { readonly type: 'session-closed' }
  | { readonly type: 'login-failed'; readonly cause: unknown };

/** TLS settings of a router: how its certificate is verified, and the client certificate. */
export type RouterTls = ClientTls;

/** The way from this machine to a router. */
export interface RouterWay {
  /** Scheme, host, port and optional path prefix, as in `https://192.0.2.10`. Plain HTTP only with `http://`. */
  readonly url: string;
  /** TLS settings for `https` URLs. Default: the authorities of the system and of Node.js. */
  readonly tls?: RouterTls | undefined;
  /** Proxy that leads connections on. Absent: connections go to the router. */
  readonly proxy?: RouterProxy | undefined;
  /** Own address that connections come from. Absent: the system chooses it. */
  readonly sourceAddress?: string | undefined;
  /** Resolves names. Default: the system's own lookup. */
  readonly lookup?: LookupFunction | undefined;
  /**
   * Opening one TCP connection, over all addresses of a name; what resolves the name and the TLS handshake count against the
   * limit of the request alone. Milliseconds, default 5,000; never more than that limit.
   */
  readonly connectTimeoutMs?: number | undefined;
}

/** Address, credentials and limits of one router. */
export interface RouterClientOptions extends RouterWay {
  /** An account of the router. Not used with `auth: 'bearer'` and `'none'`. */
  readonly username: string;
  /** Password of the account. */
  readonly password: Secret | string;
  /** Default `token`. */
  readonly auth?: AuthMode | undefined;
  /** Token of `auth: 'bearer'`. */
  readonly bearerToken?: Secret | undefined;
  /** Headers of every request. Those of the interface itself take precedence. */
  readonly headers?: Readonly<Record<string, Secret>> | undefined;
  /** One request and its answer; for a download the time until the next bytes arrive. Milliseconds, default 10,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Default: the machine's own. */
  readonly clock?: Clock | undefined;
  /** Called for every event of the session. */
  readonly report?: ((event: SessionEvent) => void) | undefined;
  /** Limit of the time in which the bytes of one download arrive. Milliseconds, default none. */
  readonly downloadMsMax?: number | undefined;
  /**
   * Called for every piece of the answer to a GET. An error that it returns ends the answer behind this piece, unless that
   * was the last one.
   */
  readonly onBody?: (() => RouterError | undefined) | undefined;
  /** Called before each piece of a download is handed over, which waits for it. Default: not called. */
  readonly beforePiece?: (() => Promise<void>) | undefined;
  /** Called before anything is sent; an error that it returns ends the call instead. Default: everything is sent. */
  readonly admit?: (() => Error | undefined) | undefined;
  /** Bound of the connections to all routers that share it. Default: none. */
  readonly connectionLimit?: ConnectionLimit | undefined;
  /**
   * Called when the router has been seen to answer on a second connection during a download, and, with the cause, when it
   * no longer does. Default: not reported.
   */
  readonly onSecondConnection?: ((answers: boolean, cause?: unknown) => void) | undefined;
}

/** The options with all that has a default. */
export type KnownOptions = ReturnType<typeof completeOptions>;

const REQUEST_TIMEOUT_MS = 10_000;
/** Enough for a link with a round trip of two seconds that loses the first packet, which TCP repeats after one second. */
const CONNECT_TIMEOUT_MS = 5000;

/** Adds what has a default. */
export function completeOptions(options: RouterClientOptions) {
  const { password, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  return {
    ...options,
    tls: options.tls ?? {},
    auth: options.auth ?? 'token',
    password: typeof password === 'string' ? new Secret(password) : password,
    requestTimeoutMs,
    connectTimeoutMs: toConnectTimeoutMs(options, requestTimeoutMs),
    clock: options.clock ?? createSystemClock(),
    report: options.report ?? (() => {}),
    connectionLimit: options.connectionLimit ?? new ConnectionLimit(Number.POSITIVE_INFINITY),
  };
}

/** Returns the limit of TCP alone if one request may take `timeoutMs`. */
export function toConnectTimeoutMs({ connectTimeoutMs = CONNECT_TIMEOUT_MS }: RouterWay, timeoutMs: number): number {
  return Math.min(connectTimeoutMs, timeoutMs);
}
