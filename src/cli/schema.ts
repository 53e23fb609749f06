import { renderJsonSchema } from '../config/index.ts';
import { renderIndexTemplate } from '../delivery/index.ts';
import { readConfig, refuseConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './terminal/io.ts';

/** Options of `schema`. */
interface SchemaFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
  /** Name of a sink of type `elasticsearch`; `undefined` = print the schema of the configuration file. */
  readonly indexTemplateOf: string | undefined;
}

/** `schema`: prints the JSON Schema of the configuration file, or the index template for one of its sinks. */
export async function schema({ configFile, indexTemplateOf }: SchemaFlags, io: CommandIo): Promise<ExitCode> {
  if (indexTemplateOf === undefined) {
    await writeResult(renderJsonSchema(), io);
    return EXIT.done;
  }
  const loaded = await readConfig(configFile);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const sink = loaded.config.sinks.find(({ name }) => name === indexTemplateOf);
  if (sink?.type !== 'elasticsearch') {
    const names = loaded.config.sinks.filter(({ type }) => type === 'elasticsearch').map(({ name }) => `"${name}"`);
    const there = names.length > 0 ? `there is ${names.join(', ')}` : 'there is none';
    io.stderr.write(`There is no sink "${indexTemplateOf}" of type elasticsearch in ${configFile}; ${there}\n`);
    return EXIT.usage;
  }
  await writeResult(renderIndexTemplate(sink), io);
  return EXIT.done;
}
