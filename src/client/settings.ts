import { isIP, type LookupFunction } from 'node:net';
import type { z } from 'zod';
import { type Clock, createSystemClock, Secret } from '../base/index.ts';
import { type ForwardProxy, proxyKey } from '../net/index.ts';
import {
  type ClientTls,
  choice,
  describeHost,
  headersShape,
  parsed,
  routerUrl,
  type Settled,
  secret,
  secretShape,
  section,
  text,
  tlsSection,
  token,
  wholeNumber,
} from '../settings/index.ts';
import { ConnectionLimit } from './connection/connection-limit.ts';
import type { RouterError } from './errors.ts';

const AUTH_MODES = ['token', 'basic', 'bearer', 'none'] as const;

/**
 * Authentication of requests. `token`: login, refresh, logout. `basic`: HTTP basic credentials with each request. `bearer`: a configured
 * token with each request. `none`: for devices without users, or with a configured header.
 */
type AuthMode = (typeof AUTH_MODES)[number];

/** Event of the session with a router. */
export type SessionEvent =
  | {
      readonly type: 'session-opened' | 'session-refreshed';
      /** Group of the account according to the token, if it contains one. */
      readonly group?: string | undefined;
    }
  | { readonly type: 'session-lost'; readonly cause: unknown }
  | { readonly type: 'session-closed' }
  | { readonly type: 'login-failed'; readonly cause: unknown };

/** TLS settings of a router: verification of its certificate, and the client certificate. */
export type RouterTls = ClientTls;

/** How this machine connects to a router. */
export interface RouterEndpoint {
  /** Scheme, host, port and optional path prefix, as in `https://192.0.2.10`. */
  readonly url: string;
  /** TLS settings for `https` URLs. Default: the authorities of the system and of Node.js. */
  readonly tls?: RouterTls | undefined;
  /** Default: direct connections. */
  readonly proxy?: ForwardProxy | undefined;
  /** Local address of connections. Default: the system's choice. */
  readonly sourceAddress?: string | undefined;
  /** Resolves names. Default: the system's lookup. */
  readonly lookup?: LookupFunction | undefined;
  /** Limit of one TCP connection, over all addresses of a name. Milliseconds, default 5,000; at most `requestTimeoutMs`. */
  readonly connectTimeoutMs?: number | undefined;
}

/** Address, credentials and limits of one router. */
export interface RouterClientOptions extends RouterEndpoint {
  /** Not used with `auth: 'bearer'` and `'none'`. */
  readonly username: string;
  /** Not used with `auth: 'bearer'` and `'none'`. */
  readonly password: Secret | string;
  /** Default `token`. */
  readonly auth?: AuthMode | undefined;
  /** Token for `auth: 'bearer'`. */
  readonly bearerToken?: Secret | undefined;
  /** Headers of every request. Headers of the interface take precedence. */
  readonly headers?: Readonly<Record<string, Secret>> | undefined;
  /** Limit of one request and its answer; for a download, of the wait for the next bytes. Milliseconds, default 10,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Called for every event of the session. */
  readonly report?: ((event: SessionEvent) => void) | undefined;
  /** Limit of the time in which the bytes of one download arrive. Milliseconds, default none. */
  readonly downloadMsMax?: number | undefined;
  /** Called for every chunk of the answer to a GET. A returned error ends the answer after this chunk, unless it was the last one. */
  readonly onBody?: (() => RouterError | undefined) | undefined;
  /** Called and awaited before each chunk of a download is passed on. */
  readonly beforePiece?: (() => Promise<void>) | undefined;
  /** Called before each request; a returned error ends the call instead. */
  readonly admit?: (() => Error | undefined) | undefined;
  /** Shared limit of the connections to all routers. Default: none. */
  readonly connectionLimit?: ConnectionLimit | undefined;
  /** Called when the router has answered on a second connection during a download, and, with the cause, when it no longer does. */
  readonly onSecondConnection?: ((answers: boolean, cause?: unknown) => void) | undefined;
}

/** The options with defaults filled in. */
export type CompleteOptions = ReturnType<typeof completeOptions>;

const REQUEST_TIMEOUT_MS = 10_000;
/** Enough for a link with a round trip of two seconds that loses the first packet, which TCP repeats after one second. */
const CONNECT_TIMEOUT_MS = 5000;

/** Fills in the defaults. */
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

/** Returns the limit of the TCP connection if one request may take `timeoutMs`. */
export function toConnectTimeoutMs(
  { connectTimeoutMs = CONNECT_TIMEOUT_MS }: RouterEndpoint,
  timeoutMs: number,
): number {
  return Math.min(connectTimeoutMs, timeoutMs);
}

/** The key `url` of a router. */
export const urlKey = routerUrl({
  description: 'Address of the router: http or https, host, port and an optional path prefix.',
});

const tls = tlsSection({
  section: 'How the certificate of an https router is verified.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system and of Node.js. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name expected in the certificate. Default: the host of `url`.',
  certFile: 'PEM file with the client certificate. Requires `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` it needs no authority.',
  insecure: 'Accepts every certificate. Anyone between agent and router can then read the password.',
});

const accountShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults` with `auth: token` and `basic`.',
  }).optional(),
  ...secretShape(
    'password',
    secret('Password of the account. Required here or in `defaults` with `auth: token` and `basic`.'),
  ),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `bearer` sends `bearer_token` with every request, `none` is for devices without users.',
      advanced: true,
    },
    AUTH_MODES,
  ).prefault('token'),
  ...secretShape('bearer_token', token('Token that is sent with every request, with `auth: bearer`.'), {
    advanced: true,
  }),
  ...headersShape({
    description:
      'Headers of every request, such as a token of a gateway. They replace those of the layers below. `Authorization` only with `auth: none`. Only in the main file.',
    ofFiles:
      'Headers whose values are read from files; one trailing line end is ignored. In addition to `headers`. Only in the main file.',
    reserved: ['accept', 'accept-encoding', 'if-none-match', 'proxy-authorization', 'range'],
  }),
};

const SOURCE_ADDRESS = 'an IP address of this machine, such as 192.0.2.5';

const endpointShape = {
  proxy: proxyKey('Proxy on the way to the router; replaces that of the layers below. `none`: there is none.'),
  source_address: parsed(
    {
      description:
        'Own address from which connections to the router, or to its proxy, are opened. Default: the system chooses it.',
      kind: 'IP address',
      advanced: true,
    },
    SOURCE_ADDRESS,
    (value) => (isIP(value) !== 0 && describeHost(value) === undefined ? value : undefined),
    String,
    describeHost,
  ).optional(),
};

/** Keys of a router for connection, authentication and verification of its certificate. */
export const connectionShape = { ...accountShape, tls: tls.optional(), ...endpointShape };

/** Schema of the section `tls` of a router. */
export const routerTlsSchema = tls;
export { accountShape as routerAccountShape };

const CONNECTIONS_LEAST = 1;
const CONNECTIONS_MOST = 1_000_000;

/** Schema of the section `connections`. */
export const connectionsSchema = section('Connections to the routers.', {
  max: wholeNumber(
    {
      description:
        'Maximum number of connections that are open at a time, over all routers. Beyond it, the one that has been idle for longest is closed first. Default: half of the open files that the process may have, and at most one for each MiB of memory.',
      advanced: true,
    },
    CONNECTIONS_LEAST,
    CONNECTIONS_MOST,
  ).optional(),
}).meta({ advanced: true });

/** The section `connections`. */
export type ConnectionSettings = Settled<z.output<typeof connectionsSchema>>;

interface ConnectionResources {
  /** Maximum number of open files of the process; `undefined` if unknown. */
  readonly descriptors: number | undefined;
  /** Of the machine or the container. Bytes. */
  readonly memoryBytes: number;
}

/** The other half is for clients of the agent's own server, sinks, files and threads. */
const DESCRIPTOR_SHARE = 1 / 2;
/** A kept connection takes about 100 KiB, so this limits all connections to a tenth of the memory. Bytes. */
const MEMORY_FOR_EACH = 1024 ** 2;
const DEFAULT_LEAST = 16;

/** Returns the default limit of connections. */
export function findConnectionsMax({ descriptors = Infinity, memoryBytes }: ConnectionResources): number {
  const most = Math.min(descriptors * DESCRIPTOR_SHARE, memoryBytes / MEMORY_FOR_EACH);
  return Math.max(DEFAULT_LEAST, Math.floor(most));
}
