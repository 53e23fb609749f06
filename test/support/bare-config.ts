import type { Config } from '../../src/config/index.ts';

/** A configuration without routers and sinks, and what a test changes of it. */
export function createBareConfig(changes: Partial<Config> = {}): Config {
  return {
    web: { listen: [] },
    schedule: { runsMax: undefined },
    connections: { connectionsMax: undefined },
    storage: { path: '', spoolBytesMax: 1, recentBytesMax: 0 },
    routers: [],
    modules: [],
    routerSources: [],
    backup: undefined,
    sinks: [],
    deadLetters: { bytesMax: 1, keepMs: 1 },
    logRules: [],
    redact: [],
    ...changes,
  };
}
