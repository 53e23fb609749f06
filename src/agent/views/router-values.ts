import type { FleetExposition } from '../../exposition/index.ts';
import type { RouterIdentity } from '../../model/index.ts';
import type { ModuleDefinition } from '../../status/index.ts';
import type { FamilyValues, ModuleValues, ResourceSummary } from '../../web/index.ts';

/** One router, and where its values are. */
export interface RouterValuesSource {
  /** Name and configured labels. */
  readonly router: RouterIdentity;
  /** Its modules, in the order in which they are shown. */
  readonly modules: readonly ModuleDefinition[];
  /** Its resources, with the ages of their values. */
  readonly resources: readonly ResourceSummary[];
  /** Holds the values. */
  readonly exposition: FleetExposition;
}

/** Properties of a family besides its description. */
interface Definition {
  readonly module: ModuleDefinition;
  readonly unit: string | undefined;
  readonly keys: readonly string[];
  readonly stateLabel: string;
}

/** Heading of families that no module defines, such as those of configuration lists. */
const OTHERS = 'other';

/**
 * Describes the values that a router reported, by module and family, with the age of each. They are those of the metrics:
 * a module of the user appears as a shipped one does. Values that are no longer served are shown with their age.
 */
export function describeValues({
  router,
  modules,
  resources,
  exposition,
}: RouterValuesSource): readonly ModuleValues[] {
  const definitions = collectDefinitions(modules);
  const sections = new Map<string, { readonly help: string; readonly families: FamilyValues[] }>();
  for (const module of modules) sections.set(module.name, { help: module.help, families: [] });
  for (const { resource, ageSeconds } of resources) {
    for (const { name, help, type, samples } of exposition.listValues(router, toPart(resource))) {
      const definition = definitions.get(name);
      const title =
        definition?.module.name ?? modules.find(({ reader }) => reader && isOf(reader, resource))?.name ?? OTHERS;
      const section = sections.get(title) ?? { help: '', families: [] };
      sections.set(title, section);
      section.families.push({
        name,
        help,
        type,
        unit: definition?.unit ?? null,
        keys: definition?.keys ?? [],
        stateLabel: definition?.stateLabel ?? null,
        resource,
        ageSeconds,
        samples,
      });
    }
  }
  return [...sections]
    .filter(([, { families }]) => families.length > 0)
    .map(([module, { help, families }]) => ({ module, help, families }));
}

/** Name of the part of the exposition that holds the values of a resource. */
export function toPart(resource: string): string {
  return `values:${resource}`;
}

function isOf(reader: string, resource: string): boolean {
  return resource === reader || resource.startsWith(reader);
}

/** Definitions by the name of the family. Modules are shared by routers, and so are these. */
const known = new WeakMap<readonly ModuleDefinition[], ReadonlyMap<string, Definition>>();

function collectDefinitions(modules: readonly ModuleDefinition[]): ReadonlyMap<string, Definition> {
  const before = known.get(modules);
  if (before) return before;
  const definitions = new Map<string, Definition>();
  for (const module of modules) {
    for (const { labels, metrics } of module.resources) {
      for (const { name, unit, type, labels: own, stateLabel } of metrics) {
        // The labels of an info are its content.
        const keys = [...Object.keys(labels), ...(type === 'info' ? [] : Object.keys(own))];
        if (!definitions.has(name)) definitions.set(name, { module, unit, keys, stateLabel });
      }
    }
  }
  known.set(modules, definitions);
  return definitions;
}
