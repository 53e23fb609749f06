import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_FAMILIES } from '../agent/index.ts';
import { renderErrorChain } from '../base/index.ts';
import { parseApiDescription } from '../client/index.ts';
import type { RouterSettings } from '../config/index.ts';
import {
  type AskedRouter,
  askResources,
  type Discovery,
  DocumentMasker,
  discoverModules,
  loadShippedModules,
  type ModuleDefinition,
  renderModules,
  renderName,
  renderNames,
  SHIPPED_MODULES_FOLDER,
  STATUS_PATHS,
  toModuleSettings,
} from '../status/index.ts';
import {
  type CommandIo,
  EXIT,
  type ExitCode,
  openProgress,
  renderJson,
  renderTable,
  writeResult,
} from './support/io.ts';
import { type ConfigFlags, readConfig, withRouter } from './support/read-config.ts';

interface DiscoverFlags extends ConfigFlags {
  readonly router: string;
  readonly openapi?: string | undefined;
  readonly dump?: string | undefined;
  readonly force?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * `discover`: finds the status resources that a router returns, and generates modules for fields that no module covers.
 * Prints YAML for `module_files`, with a table of the resources as a comment, or JSON.
 */
export async function discover(flags: DiscoverFlags, io: CommandIo): Promise<ExitCode> {
  const { openapi: openApiFile, dump: dumpFolder, force: isForced = false } = flags;
  const resources = openApiFile === undefined ? STATUS_PATHS : await readStatusPaths(openApiFile, io);
  if (!resources) return EXIT.usage;
  const files = nameDumpFiles(resources);
  if (dumpFolder !== undefined && !(await isFreeFolder('--dump', dumpFolder, files.values(), isForced, io)))
    return EXIT.usage;
  return withRouter(flags, io, async ({ settings, client }) => {
    const modules = await listModules(flags, settings);
    const asked = await ask(client, resources, io);
    if (asked.gone) {
      const { resource, error } = asked.gone;
      const rowSet = `at ${resource}, after ${asked.asked.length} of ${resources.length} resources`;
      io.stderr.write(`${flags.router}: stopped ${rowSet}: ${renderErrorChain(error)}\n`);
      return EXIT.failed;
    }
    const labels = Object.keys(settings.labels);
    const discovery = discoverModules(asked.documents, { modules, agentFamilies: AGENT_FAMILIES, labels });
    if (dumpFolder !== undefined) await writeDump(dumpFolder, files, asked.documents, isForced, io);
    const render = flags.json ? renderDiscoveryJson : renderDiscoveryYaml;
    await writeResult(render(settings, asked, discovery), io);
    io.stderr.write(renderSummary(settings, asked, discovery));
    return asked.documents.size > 0 ? EXIT.done : EXIT.failed;
  });
}

export async function listModules(flags: ConfigFlags, settings: RouterSettings): Promise<readonly ModuleDefinition[]> {
  const loaded = await readConfig(flags);
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const all = [
    ...settings.modules,
    ...(loaded.ok ? loaded.config.routers.flatMap(({ modules }) => modules) : []),
    ...(shipped.ok ? shipped.modules.map(({ definition }) => definition) : []),
  ];
  // A configured module replaces the shipped one of the same name.
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

const ANSWERS = { yes: 'yes', absent: 'absent', no_rights: 'no rights', error: 'error' } as const;

function renderDiscoveryYaml(settings: RouterSettings, { asked }: AskedRouter, discovery: Discovery): string {
  const byResource = new Map(discovery.resources.map((resource) => [resource.resource, resource]));
  const rows = asked.map(({ resource, answer }) => {
    const found = byResource.get(resource);
    const missing = found?.fields.filter(isOpen).map(({ name }) => name) ?? [];
    const counts = found ? [String(found.rows), String(found.fields.length)] : ['', ''];
    return [resource, ANSWERS[answer], ...counts, renderNames(missing)];
  });
  const table = renderTable(['RESOURCE', 'ANSWER', 'ROWS', 'FIELDS', 'FIELDS THAT NO MODULE COVERS'], rows);
  const names = discovery.modules.map(({ name }) => name);
  const use =
    names.length === 0
      ? ['No module is needed.']
      : [
          'Below are modules for the rest, derived from the values: check them before you use them. Save them in a file',
          'that module_files of the configuration names, and give them to routers:',
          `modules: [default, ${names.join(', ')}]`,
        ];
  const head = `Resources of ${settings.name}, as found by router-exporter discover.`;
  return renderModules(discovery, [head, '', ...table.trimEnd().split('\n'), '', ...use]);
}

function isOpen({ modules }: { readonly modules: readonly string[] }): boolean {
  return modules.length === 0;
}

function renderDiscoveryJson({ name }: RouterSettings, { asked }: AskedRouter, discovery: Discovery): string {
  const byResource = new Map(discovery.resources.map((resource) => [resource.resource, resource]));
  const resources = asked.map(({ resource, answer, error }) => {
    const found = byResource.get(resource);
    const fields = found?.fields.map(({ modules, ...field }) => ({ ...field, covered_by: modules }));
    return {
      resource,
      answer,
      ...(error !== undefined && { error: renderErrorChain(error) }),
      ...(found && { rows: found.rows, fields }),
    };
  });
  return renderJson({ router: name, resources, modules: toModuleSettings(discovery.modules) });
}

function renderSummary(settings: RouterSettings, { asked }: AskedRouter, { resources }: Discovery): string {
  const failures = asked
    .filter(({ answer }) => answer === 'error')
    .map(({ resource, error }) => `${resource}: ${renderErrorChain(error)}`);
  const count = (answer: keyof typeof ANSWERS) => asked.filter((one) => one.answer === answer).length;
  const missing = resources.flatMap(({ fields }) => fields).filter(isOpen);
  const sum =
    `${settings.name}: ${count('yes')} of ${asked.length} resources answered, ${count('absent')} absent, ` +
    `${count('no_rights')} without rights, ${count('error')} failed; ${missing.length} fields that no module covers`;
  return [...failures, ...renderOtherModules(settings, resources), sum].map((line) => `${line}\n`).join('');
}

const FIELDS_SHOWN_MAX = 6;

function renderOtherModules({ name: router, modules }: RouterSettings, resources: Discovery['resources']): string[] {
  const own = new Set(modules.map(({ name }) => name));
  const covering = resources.flatMap(({ resource, fields }) =>
    fields
      .filter((field) => !field.modules.some((module) => own.has(module)))
      .flatMap((field) => field.modules.map((module) => ({ module, field: `${resource} ${renderName(field.name)}` }))),
  );
  return [...Map.groupBy(covering, ({ module }) => module)].map(([module, entries]) => {
    const fields = [...new Set(entries.map(({ field }) => field))];
    const shown = fields.slice(0, FIELDS_SHOWN_MAX).join(', ') + (fields.length > FIELDS_SHOWN_MAX ? ', …' : '');
    return `Module ${module}, not enabled for ${router}, covers ${shown}`;
  });
}

/** Twenty times the size of the known descriptions. */
const DESCRIPTION_BYTES_MAX = 32 * 1024 * 1024;
/** Several times the resources of known firmware. */
const RESOURCES_MAX = 500;
const STATUS = '/status/';
/** Needs no encoding in a URL or a file name. */
const RESOURCE = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){0,7}$/;

/** Omits resources with a parameter in their path. Returns `undefined`, with the reason on stderr, if none is left. */
async function readStatusPaths(file: string, io: CommandIo): Promise<readonly string[] | undefined> {
  let calls: ReturnType<typeof parseApiDescription>['calls'];
  try {
    if ((await stat(file)).size > DESCRIPTION_BYTES_MAX) {
      io.stderr.write(`error: --openapi: ${file} has more than ${DESCRIPTION_BYTES_MAX} bytes\n`);
      return undefined;
    }
    calls = parseApiDescription(await readFile(file, 'utf8')).calls;
  } catch (cause) {
    io.stderr.write(`error: --openapi: ${file}: ${renderErrorChain(cause)}\n`);
    return undefined;
  }
  const paths = calls
    .filter(({ method, path }) => method === 'GET' && path.startsWith(STATUS))
    .map(({ path }) => path.slice(STATUS.length));
  const usable = [...new Set(paths)].filter((path) => RESOURCE.test(path));
  if (usable.length === 0) {
    io.stderr.write(`error: --openapi: ${file} describes no GET below ${STATUS}\n`);
    return undefined;
  }
  const resources = usable.slice(0, RESOURCES_MAX);
  const others = paths.length - resources.length;
  if (others > 0)
    io.stderr.write(`${others} paths of ${file} are not requested: parameters, unusual names, or too many\n`);
  return resources;
}

function nameDumpFiles(resources: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const taken = new Set<string>();
  for (const resource of resources) {
    const stem = resource.replaceAll('/', '_');
    let name = `${stem}.json`;
    // Some file systems are case-insensitive.
    for (let count = 2; taken.has(name.toLowerCase()); count++) name = `${stem}-${count}.json`;
    taken.add(name.toLowerCase());
    files.set(resource, name);
  }
  return files;
}

/** Returns whether files of these names can be written to a folder, and says on stderr why not. `flag` names the folder. */
export async function isFreeFolder(
  flag: string,
  folder: string,
  files: Iterable<string>,
  isForced: boolean,
  io: CommandIo,
): Promise<boolean> {
  const refuse = (message: string) => {
    io.stderr.write(`error: ${flag}: ${message}\n`);
    return false;
  };
  try {
    const there = new Set(await readdir(folder));
    const [first, ...others] = [...files].filter((name) => there.has(name));
    if (first === undefined || isForced) return true;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return refuse(`${folder} already contains ${first}${more}; name another folder, or add --force`);
  } catch (cause) {
    return Object(cause).code === 'ENOENT' ? true : refuse(`${folder} cannot be used: ${renderErrorChain(cause)}`);
  }
}

/** Writes one masked document per file. Rejects if a file exists, unless `isForced`. */
async function writeDump(
  folder: string,
  files: ReadonlyMap<string, string>,
  documents: ReadonlyMap<string, unknown>,
  isForced: boolean,
  io: CommandIo,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const masker = new DocumentMasker(documents.values());
  const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW } = constants;
  const flags = O_WRONLY | O_CREAT | (isForced ? O_TRUNC | O_NOFOLLOW : O_EXCL);
  for (const [resource, document] of documents) {
    await using handle = await open(join(folder, files.get(resource) ?? ''), flags, 0o600);
    // An existing file would keep its mode.
    await handle.chmod(0o600);
    await handle.writeFile(`${JSON.stringify(masker.mask(document), null, 2)}\n`);
  }
  io.stderr.write(
    `Wrote ${documents.size} files to ${folder}. Numbers, addresses, names and secrets that could be recognised are masked:\n` +
      'check the files before you share them.\n',
  );
}
