import type { BackupSettings } from '../backup/index.ts';
import type { Secret } from '../base/index.ts';
import type { SinkSettings } from '../delivery/index.ts';
import type { LogRuleSettings, RedactSettings } from '../logs/index.ts';
import type { ModuleDefinition, RouterIdentity } from '../model/index.ts';
import type { TlsSettings } from '../settings/index.ts';
import type { DeadLetterSettings, StorageSettings } from '../store/index.ts';
import type { WebSettings } from '../web/index.ts';

/** Everything the agent runs with: defaults applied, files read, paths absolute. Times are ms, sizes bytes. */
export interface Config {
  readonly web: WebSettings;
  readonly storage: StorageSettings;
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
  /** Password of the account; empty with `auth: none`. */
  readonly password: Secret;
  /** How requests are authenticated: with tokens after a login, with HTTP basic, or not at all. */
  readonly auth: 'token' | 'basic' | 'none';
  /** How the router's certificate is verified, and which client certificate is presented. */
  readonly tls: TlsSettings;
  /** IANA name; `undefined` when nobody said. */
  readonly timezone: string | undefined;
  /** Intervals and time limits of polling. */
  readonly poll: PollSettings;
  /** Which logs are read, and how often. */
  readonly logs: LogSettings;
  /** In the order of their definition. Routers with the same modules share one list, and all lists share the modules. */
  readonly modules: readonly ModuleDefinition[];
  /** Bytes per UTC day, both directions; 0: no budget. */
  readonly byteBudget: number;
}

/** Holds: `connectTimeoutMs` <= `timeoutMs` <= `deadlineMs` <= `intervalMs` < `staleAfterMs`. */
export interface PollSettings {
  /** Interval between polls of the status, in milliseconds. */
  readonly intervalMs: number;
  /** Limit of one request. */
  readonly timeoutMs: number;
  /** Limit of opening one TCP connection. */
  readonly connectTimeoutMs: number;
  /** Limit of one cycle of one router. */
  readonly deadlineMs: number;
  /** Minimum time for which values are served without being renewed, in milliseconds. */
  readonly staleAfterMs: number;
}

export interface LogSettings {
  /** True if logs are read. */
  readonly enabled: boolean;
  /** Interval between reads of the logs, in milliseconds. */
  readonly intervalMs: number;
  /** What is read on first contact with a log: all of it, what is written from then on, or a time back from then. */
  readonly start: 'all' | 'now' | { readonly backMs: number };
  /** Globs; a leading `!` excludes. At least one includes. */
  readonly components: readonly string[];
}
