import { resolve } from 'node:path';
import { AGENT_FAMILIES } from '../../agent/index.ts';
import { type Clock, createSystemClock, renderErrorChain, Secret } from '../../base/index.ts';
import { RouterClient } from '../../client/index.ts';
import {
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  type RouterSettings,
  readEnvironment,
  toClientOptions,
} from '../../config/index.ts';
import { type RedactSettings, SHIPPED_RULES } from '../../logs/index.ts';
import { findNearest, renderFault } from '../../settings/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../status/index.ts';
import { describeOpenAccess } from '../../web/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

type ReadOptions = Pick<
  LoadOptions,
  'checkedState' | 'secrets' | 'shard' | 'inventory' | 'readsSourceFiles' | 'whileAgentRuns'
>;

/** Named as on the command line. */
export interface ConfigFlags {
  readonly 'config.file': string;
  /** Replaces `storage.path`; relative to the working directory. Default: that of the file. */
  readonly 'storage.path'?: string | undefined;
}

/** Loads a configuration file with the environment of this process and the shipped modules. */
export async function readConfig(flags: ConfigFlags, options: ReadOptions = {}): Promise<LoadedConfig> {
  const { 'config.file': path, 'storage.path': storagePath } = flags;
  return await loadConfig(path, readEnvironment(), {
    ...options,
    storagePath: storagePath === undefined ? undefined : resolve(storagePath),
    shippedModules: SHIPPED_MODULES_FOLDER,
    agentFamilies: AGENT_FAMILIES,
    shippedRules: SHIPPED_RULES,
  });
}

export function refuseConfig({ faults }: LoadedConfig & { readonly ok: false }, io: CommandIo): ExitCode {
  for (const fault of faults) io.stderr.write(`${renderFault(fault)}\n`);
  return EXIT.usage;
}

export function findSecrets(settings: unknown): readonly Secret[] {
  if (settings instanceof Secret) return [settings];
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(findSecrets) : [];
}

/** Adds the warning of `--web.enable-lifecycle` without authentication. */
export function warnOfLifecycle(loaded: LoadedConfig, file: string, isLifecycleEnabled: boolean): LoadedConfig {
  const message = loaded.ok && isLifecycleEnabled ? describeOpenAccess(loaded.config.web, true) : undefined;
  if (!loaded.ok || message === undefined) return loaded;
  return { ...loaded, warnings: [...(loaded.warnings ?? []), { file, line: 1, column: 1, keyPath: '', message }] };
}

interface Connection {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
  readonly redact: readonly RedactSettings[];
}

const LOGOUT_MS = 2000;

/**
 * Runs `work` with the named router and logs out afterwards. Exit code 2 for an invalid configuration or unknown name,
 * 1 for a failing router; the reason is on stderr.
 */
export async function withRouter(
  flags: ConfigFlags & { readonly router: string },
  io: CommandIo,
  work: (connection: Connection) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { router: name } = flags;
  const loaded = await readConfig(flags);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { routers, redact } = loaded.config;
  const settings = routers.find((router) => router.name === name);
  if (!settings) {
    io.stderr.write(`${renderUnknownRouter(name, routers, flags)}\n`);
    return EXIT.usage;
  }
  const client = createClient(settings, createSystemClock());
  try {
    const exitCode = await work({ settings, client, redact });
    return io.signal.aborted ? EXIT.failed : exitCode;
  } catch (cause) {
    if (!io.signal.aborted) io.stderr.write(`${name}: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    await logOut(client);
  }
}

export function createClient(settings: RouterSettings, clock: Clock): RouterClient {
  return new RouterClient({ ...toClientOptions(settings), clock });
}

/** Also after a signal: otherwise the session stays open on the router until its auto-logout. Never rejects. */
export async function logOut(client: RouterClient): Promise<void> {
  await client.close(AbortSignal.timeout(LOGOUT_MS)).catch(() => {});
}

export function renderUnknownRouter(name: string, routers: readonly RouterSettings[], flags: ConfigFlags): string {
  const names = routers.map((router) => router.name);
  const nearest = findNearest(name, names);
  const hint = nearest
    ? `did you mean ${nearest}?`
    : `it has ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
  return `${flags['config.file']} has no router ${JSON.stringify(name)}; ${hint}`;
}
