import type { Secret } from '../base/index.ts';
import type { RouterIdentity } from '../model/index.ts';

/** Everything the agent runs with: defaults applied, files read, paths absolute. Times are ms, sizes bytes. */
export interface Config {
  readonly web: { readonly listen: readonly ListenAddress[] };
  readonly storage: {
    /** Absolute folder. */
    readonly path: string;
    readonly spoolBytesMax: number;
  };
  readonly routers: readonly RouterSettings[];
  /** None: logs have nowhere to go. */
  readonly sinks: readonly SinkSettings[];
}

export interface ListenAddress {
  /** Host name or address without brackets; `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** One router with everything that `defaults` contributed. */
export interface RouterSettings extends RouterIdentity {
  /** Scheme, host, port and path prefix, normalised, without a slash at the end. */
  readonly url: string;
  /** Empty with `auth: none`, as is the password. */
  readonly username: string;
  readonly password: Secret;
  readonly auth: 'token' | 'basic' | 'none';
  readonly tls: TlsSettings;
  /** IANA name; `undefined` when nobody said. */
  readonly timezone: string | undefined;
  readonly poll: PollSettings;
  readonly logs: LogSettings;
}

export interface TlsSettings {
  /** Certificates of the authorities to trust instead of the system's, as PEM. */
  readonly caPem: string | undefined;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly serverName: string | undefined;
  /** Certificate and private key to show, as PEM. */
  readonly certPem: string | undefined;
  readonly keyPem: Secret | undefined;
  /** 64 hexadecimal digits. */
  readonly fingerprintSha256: string | undefined;
  readonly insecureSkipVerify: boolean;
}

/** Holds: `timeoutMs` <= `deadlineMs` <= `intervalMs` < `staleAfterMs`. */
export interface PollSettings {
  readonly intervalMs: number;
  /** Limit of one request. */
  readonly timeoutMs: number;
  /** Limit of one cycle of one router. */
  readonly deadlineMs: number;
  readonly staleAfterMs: number;
}

export interface LogSettings {
  readonly enabled: boolean;
  readonly intervalMs: number;
  /** What is read on first contact with a log. */
  readonly start: 'all';
  /** Globs; a leading `!` excludes. At least one includes. */
  readonly components: readonly string[];
}

export interface SinkSettings {
  readonly name: string;
  readonly type: 'stdout';
}
