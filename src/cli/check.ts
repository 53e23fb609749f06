import { loadConfig, readEnvironment, renderFault } from '../config/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

/** `check`: says everything that is wrong with a configuration, one line each, or that nothing is. */
export async function check(configFile: string, io: CommandIo): Promise<ExitCode> {
  const loaded = await loadConfig(configFile, readEnvironment());
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stdout.write(`${renderFault(fault)}\n`);
    return EXIT.usage;
  }
  const { routers, sinks } = loaded.config;
  io.stdout.write(`${configFile}: no faults (${routers.length} routers, ${sinks.length} sinks)\n`);
  return EXIT.done;
}
