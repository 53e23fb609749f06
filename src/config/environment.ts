import type { Environment } from '../settings/index.ts';

/** A copy of the environment of this process: the only place that reads it. */
export function readEnvironment(): Environment {
  return { ...process.env };
}
