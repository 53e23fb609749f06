import { renderFault } from '../config/index.ts';
import { readConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './io.ts';

/** `check`: says everything that is wrong with a configuration, one line each, or that nothing is. */
export async function check(configFile: string, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  const { routers, sinks } = loaded.config;
  await writeResult(`${configFile}: no faults (routers: ${routers.length}, sinks: ${sinks.length})\n`, io);
  return EXIT.done;
}
