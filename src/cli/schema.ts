import { renderJsonSchema } from '../config/index.ts';
import { renderIndexTemplate } from '../sinks/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './support/io.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './support/read-config.ts';

interface SchemaFlags extends ConfigFlags {
  readonly indexTemplate?: string | undefined;
}

/** `schema`: prints the JSON Schema of the configuration file, or the index template for one of its sinks. */
export async function schema(flags: SchemaFlags, io: CommandIo): Promise<ExitCode> {
  const { 'config.file': configFile, indexTemplate: indexTemplateOf } = flags;
  if (indexTemplateOf === undefined) {
    await writeResult(renderJsonSchema(), io);
    return EXIT.done;
  }
  const loaded = await readConfig(flags);
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
