import type { Config } from '../../src/config/index.ts';

/** A configuration without routers and sinks, and what a test changes of it. */
export function createBareConfig(changes: Partial<Config> = {}): Config {
  return {
    web: { listen: [] },
    schedule: {},
    connections: {},
    storage: { path: '', spool_max: 1, recent: 0 },
    routers: [],
    modules: [],
    router_sources: [],
    backup: undefined,
    sinks: [],
    dead_letters: { max: 1, keep: 1 },
    log_rules: [],
    redact: [],
    origins: { main: [], routers: new Map() },
    ...changes,
  };
}
