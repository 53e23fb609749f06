import { AGENT_FAMILIES } from '../../agent/index.ts';
import { renderErrorChain } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { ModuleDefinition } from '../../status/index.ts';
import {
  type AskedRouter,
  askResources,
  discoverModules,
  loadShippedModules,
  SHIPPED_MODULES_FOLDER,
  STATUS_PATHS,
} from '../../status/index.ts';
import { type ConfigFlags, readConfig } from '../configuration.ts';
import { withRouter } from '../routers/connect.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { openProgress } from '../terminal/progress.ts';
import { isDumpFolder, nameDumpFiles, readStatusPaths, writeDump } from './files.ts';
import { renderDiscoveryJson, renderDiscoveryYaml, renderSummary } from './report.ts';

/** Options of `discover`. */
interface DiscoverFlags extends ConfigFlags {
  /** Name of the router. */
  readonly router: string;
  /** OpenAPI description of a firmware, whose status resources are requested instead of the known ones. */
  readonly openApiFile: string | undefined;
  /** Folder for the masked documents; `undefined` = no dump. */
  readonly dumpFolder: string | undefined;
  /** True to overwrite the files of an earlier dump. */
  readonly isForced: boolean;
  /** True to print JSON instead of YAML. */
  readonly isJson: boolean;
}

/**
 * `discover`: finds the status resources that a router returns, and generates modules for fields that none covers yet.
 * Prints one YAML file for `module_files` with the table as a leading comment, or everything as JSON.
 */
export async function discover(flags: DiscoverFlags, io: CommandIo): Promise<ExitCode> {
  const { openApiFile, dumpFolder, isForced } = flags;
  const resources = openApiFile === undefined ? STATUS_PATHS : await readStatusPaths(openApiFile, io);
  if (!resources) return EXIT.usage;
  const files = nameDumpFiles(resources);
  if (dumpFolder !== undefined && !(await isDumpFolder(dumpFolder, files, isForced, io))) return EXIT.usage;
  return withRouter(flags, flags.router, io, async ({ settings, client }) => {
    const modules = await listModules(flags, settings);
    const asked = await ask(client, resources, io);
    if (asked.gone) {
      const { resource, error } = asked.gone;
      const rowSet = `at ${resource}, after ${asked.asked.length} of ${resources.length} resources`;
      io.stderr.write(`${flags.router}: gave up ${rowSet}: ${renderErrorChain(error)}\n`);
      return EXIT.failed;
    }
    const labels = Object.keys(settings.labels);
    const discovery = discoverModules(asked.documents, { modules, agentFamilies: AGENT_FAMILIES, labels });
    if (dumpFolder !== undefined) await writeDump(dumpFolder, files, asked.documents, isForced, io);
    const render = flags.isJson ? renderDiscoveryJson : renderDiscoveryYaml;
    await writeResult(render(settings, asked, discovery), io);
    io.stderr.write(renderSummary(settings, asked, discovery));
    return asked.documents.size > 0 ? EXIT.done : EXIT.failed;
  });
}

/** Lists all known modules: those of the configured routers, and the built-in ones. */
async function listModules(
  { configFile, storagePath }: ConfigFlags,
  settings: RouterSettings,
): Promise<readonly ModuleDefinition[]> {
  const loaded = await readConfig(configFile, { storagePath });
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const all = [
    ...settings.modules,
    ...(loaded.ok ? loaded.config.routers.flatMap(({ modules }) => modules) : []),
    ...(shipped.ok ? shipped.modules.map(({ definition }) => definition) : []),
  ];
  // A configured module replaces the built-in one of the same name.
  return [...new Map(all.toReversed().map((module) => [module.name, module])).values()];
}

async function ask(
  client: Parameters<typeof askResources>[0],
  resources: readonly string[],
  io: CommandIo,
): Promise<AskedRouter> {
  const progress = openProgress(io);
  try {
    return await askResources(client, resources, io.signal, (resource, index) =>
      progress.update(`${resource}  ${index + 1} of ${resources.length}`),
    );
  } finally {
    progress.end();
  }
}
