import type { z } from 'zod';
import type { BackupSettings } from '../backup/index.ts';
import type { Secret } from '../base/index.ts';
import type { SinkSettings } from '../delivery/index.ts';
import type { LogRuleSettings, LogSettings, RedactSettings } from '../logs/index.ts';
import type { RouterIdentity } from '../model/index.ts';
import type { TlsSettings } from '../settings/index.ts';
import type { ModuleDefinition, PollSettings } from '../status/index.ts';
import type { DeadLetterSettings, StorageSettings } from '../store/index.ts';
import type { WebSettings } from '../web/index.ts';
import type { routerKeysSchema } from './router-schema.ts';

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
  readonly auth: RouterKeys['auth'];
  /** How the router's certificate is verified, and which client certificate is presented. */
  readonly tls: TlsSettings;
  /** IANA name; `undefined` when nobody said. */
  readonly timezone: RouterKeys['timezone'];
  /** Intervals and time limits of polling. */
  readonly poll: PollSettings;
  /** Which logs are read, and how often. */
  readonly logs: LogSettings;
  /** In the order of their definition. Routers with the same modules share one list, and all lists share the modules. */
  readonly modules: readonly ModuleDefinition[];
  /** Bytes per UTC day, both directions; 0: no budget. */
  readonly byteBudget: RouterKeys['byte_budget'];
}

type RouterKeys = z.output<typeof routerKeysSchema>;
