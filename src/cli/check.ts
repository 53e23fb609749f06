import { renderFault } from '../settings/index.ts';
import { readConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './io.ts';

export interface CheckFlags {
  readonly configFile: string;
  /** Whether each sink is tried, too. */
  readonly triesSinks: boolean;
}

/** `check`: says everything that is wrong with a configuration, one line each, or that nothing is. */
export async function check({ configFile, triesSinks }: CheckFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  const { routers, sinks } = loaded.config;
  await writeResult(`${configFile}: no faults (routers: ${routers.length}, sinks: ${sinks.length})\n`, io);
  if (!triesSinks) return EXIT.done;
  const { preflightSinks } = await import('./sink-preflight.ts');
  const { text, hasFailed } = await preflightSinks(loaded.config, io);
  await writeResult(text, io);
  return hasFailed ? EXIT.failed : EXIT.done;
}
