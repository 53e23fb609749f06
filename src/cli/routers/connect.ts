import { type Clock, createSystemClock, renderErrorChain } from '../../base/index.ts';
import { type RouterSettings, toClientOptions } from '../../config/index.ts';
import type { RedactSettings } from '../../logs/index.ts';
import { RouterClient } from '../../router/index.ts';
import { findNearest } from '../../settings/index.ts';
import { type ConfigFlags, readConfig, refuseConfig } from '../configuration.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';

/** A configured router and its client, for the duration of one command. */
export interface Connection {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Client of its REST interface. */
  readonly client: RouterClient;
  /** Patterns that are removed from messages of its logs. */
  readonly redact: readonly RedactSettings[];
}

/** Maximum wait for the logout at the end of a command. Milliseconds. */
const LOGOUT_MS = 2000;

/**
 * Runs `work` with the configured router `name` and logs out afterwards. An invalid configuration or unknown name is exit
 * code 2, a failing router exit code 1, each with its reason on stderr.
 */
export async function withRouter(
  { configFile, storagePath }: ConfigFlags,
  name: string,
  io: CommandIo,
  work: (connection: Connection) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await readConfig(configFile, { storagePath });
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { routers, redact } = loaded.config;
  const settings = routers.find((router) => router.name === name);
  if (!settings) {
    io.stderr.write(`${renderUnknownRouter(name, routers, configFile)}\n`);
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

/** Creates the client of a router for one command. */
export function createClient(settings: RouterSettings, clock: Clock): RouterClient {
  return new RouterClient({ ...toClientOptions(settings), clock });
}

/** Ends the session, even after a signal: otherwise it stays open on the router until its auto-logout. Never rejects. */
export async function logOut(client: RouterClient): Promise<void> {
  await client.close(AbortSignal.timeout(LOGOUT_MS)).catch(() => {});
}

/** Renders the error for an unknown router name, with the nearest known name. */
export function renderUnknownRouter(name: string, routers: readonly RouterSettings[], configFile: string): string {
  const names = routers.map((router) => router.name);
  const nearest = findNearest(name, names);
  const hint = nearest
    ? `did you mean ${nearest}?`
    : `it has ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
  return `${configFile} has no router ${JSON.stringify(name)}; ${hint}`;
}
