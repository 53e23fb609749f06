import { renderFault } from '../settings/index.ts';
import { readConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './terminal/io.ts';

/** Options of `check`. */
export interface CheckFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
  /** True to test each sink as well. */
  readonly triesSinks: boolean;
}

/** `check`: prints all faults of a configuration, one per line, or that there are none. */
export async function check({ configFile, triesSinks }: CheckFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  const { routers, sinks } = loaded.config;
  await writeResult(`${configFile}: no faults (routers: ${routers.length}, sinks: ${sinks.length})\n`, io);
  if (!triesSinks) return EXIT.done;
  const { preflightSinks } = await import('./doctor/sinks.ts');
  const { text, hasFailed } = await preflightSinks(loaded.config, io);
  await writeResult(text, io);
  return hasFailed ? EXIT.failed : EXIT.done;
}
