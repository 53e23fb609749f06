import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_FAMILIES } from '../agent/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { readBundle } from '../simulator/index.ts';
import {
  discoverModules,
  expandPath,
  loadShippedModules,
  mapDocument,
  modulesSchema,
  nameOrigins,
  renderModules,
  SHIPPED_MODULES_FOLDER,
  toDefinition,
  toModuleSettings,
} from '../status/index.ts';
import { isFreeFolder } from './discover.ts';
import { listResources } from './status.ts';
import { type CommandIo, EXIT, type ExitCode } from './support/io.ts';
import { writeOutputFile } from './support/output-file.ts';

interface DraftFlags {
  /** Bundle. */
  readonly from: string;
  /** Folder. */
  readonly output: string;
  readonly force?: boolean | undefined;
}

const FILES = ['modules.yaml', 'metrics.prom'];
const FILE_MODE = 0o644;
const STATUS = /^\/status\/(\w+(?:\/\w+)*)$/;
const HEAD = [
  'Drafts for the resources of a bundle that no shipped module reads, derived from the values: choose names, helps',
  'and labels before you use them.',
];
/** The router of `simulate` with one bundle. */
const ROUTER = { name: 'sim-1', labels: {} };

/**
 * `discover --from`: drafts modules for those resources of a bundle that no shipped module reads. Writes them to a folder with their
 * test, the series that they must make of the answers.
 */
export async function draftModules(
  { from: file, output: folder, force = false }: DraftFlags,
  io: CommandIo,
): Promise<ExitCode> {
  if (!(await isFreeFolder('--output', folder, FILES, force, io))) return EXIT.usage;
  const bundle = await readBundle(file);
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const modules = shipped.ok ? shipped.modules.map(({ definition }) => definition) : [];
  const covered = new Set(modules.flatMap(({ resources }) => resources.flatMap(({ path }) => expandPath(path))));
  const documents = new Map<string, unknown>();
  for (const { path, status, body } of bundle.answers) {
    const [, resource] = STATUS.exec(path) ?? [];
    if (resource === undefined || status !== 200 || covered.has(resource)) continue;
    documents.set(resource, body);
  }
  const discovery = discoverModules(documents, { modules, agentFamilies: AGENT_FAMILIES, labels: [] });
  const yaml = renderModules(discovery, HEAD);
  const drafts = modulesSchema.parse(toModuleSettings(discovery.modules));
  const definitions = nameOrigins(Object.entries(drafts).map(([name, draft]) => toDefinition(name, draft)));
  const exposition = new FleetExposition();
  for (const [resource, document] of documents) {
    const context = { resource, readAtMs: Date.parse(bundle.made_at), zone: undefined };
    const { families } = mapDocument(listResources(definitions, resource), document, context);
    exposition.publishValues(ROUTER, resource, families, Infinity);
  }
  const series = [...exposition.render('text', 0, ROUTER.name)].join('');
  await mkdir(folder, { recursive: true });
  for (const [index, text] of [yaml, series].entries()) {
    await writeOutputFile(join(folder, FILES[index] ?? ''), [Buffer.from(text)], FILE_MODE);
  }
  io.stderr.write(`Wrote modules.yaml and metrics.prom to ${folder}: ${Object.keys(drafts).join(', ') || 'no modules'}
Test: "router-exporter simulate --from ${file}", then compare metrics.prom with the output of
"router-exporter status ${ROUTER.name} ${[...documents.keys()].join(' ')} --metrics", with these modules in the configuration
`);
  return EXIT.done;
}
