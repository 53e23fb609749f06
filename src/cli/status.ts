import { createSystemClock, renderErrorChain } from '../base/index.ts';
import type { RouterClient } from '../client/index.ts';
import type { RouterSettings } from '../config/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import {
  type CompiledResource,
  compileModules,
  expandPath,
  type JoinTable,
  type MappingContext,
  type MappingFault,
  mapDocument,
  readDevice,
  SilenceCount,
} from '../status/index.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './support/io.ts';
import { type ConfigFlags, withRouter } from './support/read-config.ts';

interface StatusFlags extends ConfigFlags {
  readonly router: string;
  /** Status resources, or any resource with a leading slash. Empty: those of the router's modules. */
  readonly resources: readonly string[];
  readonly metrics?: boolean | undefined;
}

/** `status`: prints the status of a router, as JSON documents or as metrics. */
export function status(flags: StatusFlags, io: CommandIo): Promise<ExitCode> {
  return withRouter(flags, io, async ({ settings, client }) => {
    const isChosen = flags.resources.length > 0;
    const names = isChosen ? flags.resources : listPaths(settings);
    const exposition = new FleetExposition();
    const documents: Record<string, unknown> = {};
    const silences = new SilenceCount();
    let exitCode: ExitCode = EXIT.done;
    for (const name of names) {
      try {
        const isPath = name.startsWith('/');
        const document = await (isPath ? client.readPath(name, io.signal) : client.readStatus(name, io.signal));
        documents[name] = document;
        silences.isGoneAfter(undefined);
        const around = flags.metrics ? await readAround(settings, name, client, io.signal) : {};
        const context = { resource: name, readAtMs: createSystemClock().now(), zone: settings.timezone, ...around };
        const { families, faults } = mapDocument(listResources(settings.modules, name), document, context);
        exposition.publishValues(settings, name, families, Infinity);
        if (flags.metrics) for (const fault of faults) io.stderr.write(`${name}: ${renderFault(fault)}\n`);
      } catch (cause) {
        io.signal.throwIfAborted();
        if (silences.isGoneAfter(cause)) {
          // Report a lost connection once, and show what was read before.
          io.stderr.write(`${settings.name}: ${renderErrorChain(cause)}\n`);
          exitCode = EXIT.failed;
          break;
        }
        // Modules request cards that a router may lack; resources requested by name must exist.
        if (!isChosen && Object(cause).status === 404) continue;
        io.stderr.write(`${name}: ${renderErrorChain(cause)}\n`);
        exitCode = EXIT.failed;
      }
    }
    const only = flags.resources.length === 1 ? documents[flags.resources[0] ?? ''] : documents;
    if (flags.metrics) await writeResult([...exposition.render('text', 0, settings.name)].join(''), io);
    else if (Object.keys(documents).length > 0) await writeResult(renderJson(only), io);
    return exitCode;
  });
}

function listPaths({ modules }: RouterSettings): readonly string[] {
  return [...new Set(modules.flatMap(({ resources }) => resources.flatMap(({ path }) => expandPath(path))))];
}

/** Lists what modules make of a resource. */
export function listResources(modules: RouterSettings['modules'], name: string): readonly CompiledResource[] {
  return compileModules(modules)
    .flatMap(({ resources }) => resources)
    .filter(({ definition }) => expandPath(definition.path).includes(name));
}

/** Reads the device, for conditions, and joined resources. */
async function readAround(
  { modules }: RouterSettings,
  name: string,
  client: RouterClient,
  signal: AbortSignal,
): Promise<Pick<MappingContext, 'device' | 'tableOf'>> {
  const resources = listResources(modules, name);
  const read = async (path: string) =>
    path.startsWith('/') ? client.readPath(path, signal) : client.readStatus(path, signal);
  const isConditional = resources.some((resource) => resource.isConditional);
  const device = isConditional ? readDevice(await read('device_info')) : undefined;
  const tables = new Map<object, JoinTable>();
  for (const { join } of resources) {
    // As in the agent, a missing joined resource gives no labels.
    const document = join && (await read(join.definition.path).catch(() => undefined));
    if (join) tables.set(join, join.extract(document));
  }
  return { device, tableOf: (join) => tables.get(join) };
}

function renderFault({ module, metric, reason }: MappingFault): string {
  // A state set always has samples.
  const result =
    reason === 'unknown_state' ? 'is shown as unknown, because its text is not in "states"' : 'has no sample';
  return `${metric} of module ${module} ${result}: ${reason}`;
}
