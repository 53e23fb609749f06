import { createSystemClock, renderErrorChain } from '../base/index.ts';
import type { RouterClient } from '../client/index.ts';
import type { RouterSettings } from '../config/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { parseListing } from '../logs/index.ts';
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
import { Overview } from './status-overview.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './support/io.ts';
import { type ConfigFlags, withRouter } from './support/read-config.ts';

interface StatusFlags extends ConfigFlags {
  readonly router: string;
  /** Status resources, or any resource with a leading slash. Empty: those of the router's modules. */
  readonly resources: readonly string[];
  readonly metrics?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Before the counters of interfaces are read again. */
const RATE_MS = 2000;

/** `status`: prints the status of a router, as JSON documents, as metrics or, on a terminal, as an overview. */
export function status(flags: StatusFlags, io: CommandIo): Promise<ExitCode> {
  return withRouter(flags, io, async ({ settings, client }) => {
    const isChosen = flags.resources.length > 0;
    const isOverview = io.stdout.isTTY === true && !(isChosen || flags.metrics || flags.json);
    const names = isOverview
      ? listOverviewPaths(settings, io.signal)
      : isChosen
        ? flags.resources
        : listPaths(settings);
    const clock = createSystemClock();
    const overview = new Overview();
    const exposition = new FleetExposition();
    const documents: Record<string, unknown> = {};
    const silences = new SilenceCount();
    let exitCode: ExitCode = EXIT.done;
    for await (const name of names) {
      try {
        const isPath = name.startsWith('/');
        const document = await (isPath ? client.readPath(name, io.signal) : client.readStatus(name, io.signal));
        documents[name] = document;
        silences.isGoneAfter(undefined);
        const around = flags.metrics ? await readAround(settings, name, client, io.signal) : {};
        const context = { resource: name, readAtMs: clock.now(), zone: settings.timezone, ...around };
        const { families, faults } = mapDocument(listResources(settings.modules, name), document, context);
        overview.add(name, families, clock.monotonic());
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
    else if (isOverview && Object.keys(documents).length > 0) {
      const listing = await client.listLogs(io.signal).then(parseListing, () => undefined);
      await writeResult(overview.render(settings, listing), io);
    } else if (Object.keys(documents).length > 0) await writeResult(renderJson(only), io);
    return exitCode;
  });
}

/** Lists what the modules of a router read; with `metric`, only what has this metric. */
function listPaths({ modules }: RouterSettings, metric?: string): readonly string[] {
  const resources = modules
    .flatMap((module) => module.resources)
    .filter(({ metrics }) => metric === undefined || metrics.some(({ name }) => name === metric));
  return [...new Set(resources.flatMap(({ path }) => expandPath(path)))];
}

/** The counters of interfaces come again, some time later. */
async function* listOverviewPaths(settings: RouterSettings, signal: AbortSignal): AsyncGenerator<string> {
  yield* listPaths(settings);
  await createSystemClock().sleep(RATE_MS, signal);
  yield* listPaths(settings, 'router_interface_receive_bytes_total');
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
