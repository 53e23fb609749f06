import type { Secret } from '../base/index.ts';
import type { SinkSettings } from '../delivery/index.ts';
import type { ModuleDefinition, RouterIdentity } from '../model/index.ts';
import type { ListenAddress, TlsSettings } from '../settings/index.ts';

/** Everything the agent runs with: defaults applied, files read, paths absolute. Times are ms, sizes bytes. */
export interface Config {
  readonly web: {
    readonly listen: readonly ListenAddress[];
    /** Of `web.config_file`; absent without one. */
    readonly security?: WebSecurity | undefined;
  };
  readonly storage: {
    /** Absolute folder. */
    readonly path: string;
    readonly spoolBytesMax: number;
  };
  /** Those of the main file, then those of each file of routers. Empty only when such files may come later. */
  readonly routers: readonly RouterSettings[];
  /** Absent: profiles are not backed up. */
  readonly backup: BackupSettings | undefined;
  /** None: logs have nowhere to go. */
  readonly sinks: readonly SinkSettings[];
  readonly deadLetters: DeadLetterSettings;
  /** The shipped ones among them, where `default` stands for them. Rules of one name have one type, help and list of labels. */
  readonly logRules: readonly LogRuleSettings[];
  /** Applied to every message, one after the other. */
  readonly redact: readonly RedactSettings[];
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
  /** In the order of their definition. Routers with the same modules share one list, and all lists share the modules. */
  readonly modules: readonly ModuleDefinition[];
  /** Bytes per UTC day, both directions; 0: no budget. */
  readonly byteBudget: number;
}

/** Holds: `connectTimeoutMs` <= `timeoutMs` <= `deadlineMs` <= `intervalMs` < `staleAfterMs`. */
export interface PollSettings {
  readonly intervalMs: number;
  /** Limit of one request. */
  readonly timeoutMs: number;
  /** Limit of opening one TCP connection. */
  readonly connectTimeoutMs: number;
  /** Limit of one cycle of one router. */
  readonly deadlineMs: number;
  readonly staleAfterMs: number;
}

export interface LogSettings {
  readonly enabled: boolean;
  readonly intervalMs: number;
  /** What is read on first contact with a log: all of it, what is written from then on, or a time back from then. */
  readonly start: 'all' | 'now' | { readonly backMs: number };
  /** Globs; a leading `!` excludes. At least one includes. */
  readonly components: readonly string[];
}

/** What becomes a number of the lines of logs. */
export interface LogRuleSettings {
  /** Name of the metric. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** Globs; a leading `!` excludes. At least one includes. */
  readonly components: readonly string[];
  /** In the syntax of RE2; it compiles. */
  readonly pattern: string;
  /** Groups of the pattern that become labels, beside `router` and `component`. */
  readonly labels: readonly string[];
  /** Labels with the same text on every series of the rule; none of them is among `labels`. */
  readonly fixedLabels: Readonly<Record<string, string>>;
  /** Group of the pattern that holds the value. Without one, which a gauge never is, every line counts 1. */
  readonly value?: string | undefined;
}

/** What is removed from messages. */
export interface RedactSettings {
  /** In the syntax of RE2; it compiles, and does not match nothing. */
  readonly pattern: string;
  /** What stands there instead, as it is written. */
  readonly replacement: string;
}

export interface BackupSettings {
  /** Cron expression of 5 or 6 fields, which node-cron accepts. */
  readonly schedule: string;
  /** Absolute folder. */
  readonly path: string;
  /** Versions of each profile of a router. */
  readonly keep: number;
  readonly format: 'binary' | 'ascii';
}

/** How the agent's own server protects itself. */
export interface WebSecurity {
  /** Absent: plain HTTP. */
  readonly tls?: WebTlsSettings | undefined;
  /** Added to every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bcrypt hashes of passwords by user; empty: everybody may come in. */
  readonly users: ReadonlyMap<string, string>;
}

export interface WebTlsSettings {
  /** The certificate, then those that vouch for it. */
  readonly certPem: string;
  readonly keyPem: Secret;
  /** Authorities that vouch for clients; there when certificates of clients are verified. */
  readonly clientCaPem?: string | undefined;
  readonly clientAuth: ClientAuth;
  /** Absent: TLS 1.2. */
  readonly minVersion?: 'TLS12' | 'TLS13' | undefined;
  /** Absent: TLS 1.3. */
  readonly maxVersion?: 'TLS12' | 'TLS13' | undefined;
  /** By their names in the list of IANA, the best first; those of TLS 1.3 are always on. Absent: those of the runtime. */
  readonly cipherSuites?: readonly string[] | undefined;
  /** Only with `require-any` or `require-and-verify`: one of these must be a subject alternative name of the client. */
  readonly clientAllowedSans?: readonly string[] | undefined;
}

/** Whether clients are asked for a certificate, whether they must have one, and whether an authority must vouch for it. */
export type ClientAuth = 'none' | 'request' | 'require-any' | 'verify-if-given' | 'require-and-verify';

/** What is refused for good, and kept. */
export interface DeadLetterSettings {
  /** Of all sinks together; the oldest go first. */
  readonly bytesMax: number;
  readonly keepMs: number;
}
