import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_FAMILIES } from '../../src/agent/metrics/fleet-families.ts';
import { loadConfig } from '../../src/config/index.ts';
import { renderFault } from '../../src/settings/index.ts';
import type { ModuleDefinition } from '../../src/status/index.ts';
import {
  compileModules,
  discoverModules,
  expandPath,
  mapDocument,
  renderModules,
  SHIPPED_MODULES_FOLDER,
} from '../../src/status/index.ts';
import { loadShippedModules } from './shipped-modules.ts';

export const SHIPPED = loadShippedModules();
const AT_MS = Date.UTC(2026, 10, 21, 9, 30, 0);

/** What is discovered in documents in addition to the shipped modules and the agent's own families. */
export function discoverIn(documents: Readonly<Record<string, unknown>>, labels: readonly string[] = []) {
  const context = { modules: SHIPPED, agentFamilies: AGENT_FAMILIES, labels };
  return discoverModules(new Map(Object.entries(documents)), context);
}

/** Loads the file of what was discovered, as a configuration would, with all its modules; throws the faults. */
export async function loadDiscovered(
  discovery: ReturnType<typeof discoverIn>,
  labels: Readonly<Record<string, string>> = {},
): Promise<readonly ModuleDefinition[]> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-discovered-'));
  try {
    const names = discovery.modules.map(({ name }) => name);
    const file = join(folder, 'router-exporter.yaml');
    await writeFile(join(folder, 'modules.yaml'), renderModules(discovery, ['A header.']));
    await writeFile(
      file,
      JSON.stringify({
        module_files: ['modules.yaml'],
        defaults: { username: 'monitor', password: 'x' },
        routers: [
          {
            name: 'r',
            url: 'https://192.0.2.10',
            labels,
            modules: Object.keys(labels).length > 0 ? names : ['default', ...names],
          },
        ],
      }),
    );
    const options = { shippedModules: SHIPPED_MODULES_FOLDER, agentFamilies: AGENT_FAMILIES };
    const loaded = await loadConfig(file, { SECRET: 'of the environment' }, options);
    if (!loaded.ok) throw new RangeError(loaded.faults.map(renderFault).join('\n'));
    return (loaded.config.routers[0]?.modules ?? []).filter(({ name }) => names.includes(name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What modules make of a document: metric names with their samples, and the faults. */
export function mapWith(modules: readonly ModuleDefinition[], resource: string, document: unknown) {
  const resources = compileModules(modules)
    .flatMap((module) => module.resources)
    .filter(({ definition }) => expandPath(definition.path).includes(resource));
  const context = { resource, readAtMs: AT_MS, zone: 'Europe/Berlin' };
  const { families, faults } = mapDocument(resources, document, context);
  return { series: Object.fromEntries(families.map(({ name, samples }) => [name, samples])), faults };
}
