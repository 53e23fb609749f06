import { type Clock, createSystemClock, renderErrorChain } from '../base/index.ts';
import type { RouterSettings } from '../config/index.ts';
import { RouterClient, type RouterTls } from '../router/index.ts';
import { findNearest, renderFault } from '../settings/index.ts';
import { readConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

/** A router of the configuration, to be talked to in one command. */
export interface Connection {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
}

/** How long a command waits for the logout when it has its result. Milliseconds. */
const LOGOUT_MS = 2000;

/**
 * Runs `work` with the router `name` of the configuration and logs out afterwards. A wrong configuration or name is
 * exit code 2, a router that fails exit code 1, each with its reason on stderr.
 */
export async function withRouter(
  configFile: string,
  name: string,
  io: CommandIo,
  work: (connection: Connection) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${renderFault(fault)}\n`);
    return EXIT.usage;
  }
  const { routers } = loaded.config;
  const settings = routers.find((router) => router.name === name);
  if (!settings) {
    io.stderr.write(`${renderUnknownRouter(name, routers, configFile)}\n`);
    return EXIT.usage;
  }
  const client = createClient(settings, createSystemClock());
  try {
    const exitCode = await work({ settings, client });
    return io.signal.aborted ? EXIT.failed : exitCode;
  } catch (cause) {
    if (!io.signal.aborted) io.stderr.write(`${name}: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    await logOut(client);
  }
}

/** The client that a command talks to a router with. */
export function createClient(settings: RouterSettings, clock: Clock): RouterClient {
  const { url, username, password, auth, poll } = settings;
  return new RouterClient({
    url,
    username,
    password,
    auth,
    tls: toRouterTls(settings),
    requestTimeoutMs: poll.timeoutMs,
    connectTimeoutMs: poll.connectTimeoutMs,
    clock,
  });
}

export function toRouterTls({ tls }: RouterSettings): RouterTls {
  return { ...tls, keyPem: tls.keyPem?.reveal() };
}

/** Ends the session, also after a signal: it would stay open on the router until its auto-logout. Never rejects. */
export async function logOut(client: RouterClient): Promise<void> {
  await client.close(AbortSignal.timeout(LOGOUT_MS)).catch(() => {});
}

/** Says which router was perhaps meant. */
export function renderUnknownRouter(name: string, routers: readonly RouterSettings[], configFile: string): string {
  const names = routers.map((router) => router.name);
  const nearest = findNearest(name, names);
  const hint = nearest
    ? `did you mean ${nearest}?`
    : `it has ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
  return `${configFile} has no router ${JSON.stringify(name)}; ${hint}`;
}
