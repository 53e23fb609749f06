import type { FamilyDescription } from '../../model/index.ts';
import { compileModules } from '../mapping/compile-modules.ts';
import type { ModuleDefinition } from '../module-settings/module-definition.ts';
import { expandPath, STATUS_PATHS } from '../status-paths.ts';
import { DocumentMasker } from './document-masker.ts';
import { exploreDocuments, type SeenField, type SeenRowSet } from './explore-documents.ts';
import { MetricNames, toSnakeCase } from './metric-names.ts';
import type { ProposedModule, ProposedRowSet } from './proposal.ts';
import { type ProposalContext, proposeRowSet } from './propose-row-set.ts';

/** A field of a router's answer and the modules that use it. */
export interface DiscoveredField {
  readonly each: string;
  readonly name: string;
  readonly modules: readonly string[];
}

/** Content of a resource. */
interface DiscoveredResource {
  readonly resource: string;
  /** Number of rows that are not nested in other rows. */
  readonly rows: number;
  readonly fields: readonly DiscoveredField[];
}

/** Fields of a router that modules cover, and modules proposed for the others. */
export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Proposed modules for what no module covers. */
  readonly modules: readonly ProposedModule[];
  /** Paths with fields that no module covers and that cannot become a metric. */
  readonly remarks: readonly ProposedRowSet[];
  /** Resources left out because the limit of modules was reached. */
  readonly leftOut: readonly string[];
}

/** Known modules, families and labels that answers are compared with. */
export interface DiscoveryContext {
  /** All known modules, whether or not the router has them. */
  readonly modules: readonly ModuleDefinition[];
  /** Families of the agent itself. */
  readonly agentFamilies: readonly FamilyDescription[];
  /** Labels that the router's configuration adds to all its series. */
  readonly labels: readonly string[];
}

/** Maximum number of modules in a configuration. */
const MODULES_MAX = 100;

/** Finds what no module covers in the documents of a router (by resource), and proposes modules for it. Pure. */
export function discoverModules(documents: ReadonlyMap<string, unknown>, context: DiscoveryContext): Discovery {
  const resources = [...documents].map(([resource, document]): Answered => {
    const rowSets = exploreDocuments([document]);
    return { resource, document, rowSets, coverage: findCoverage(resource, rowSets, context.modules) };
  });
  const families = context.modules.flatMap((module) => module.resources.flatMap(({ metrics }) => metrics));
  const masker = new DocumentMasker(documents.values());
  const proposal: ProposalContext = {
    names: new MetricNames([...families, ...context.agentFamilies]),
    labels: context.labels,
    isSensitive: (text) => masker.isSensitive(text),
  };
  const moduleNames = new Set(context.modules.map(({ name }) => name));
  const modules: ProposedModule[] = [];
  const remarks: ProposedRowSet[] = [];
  const leftOut: string[] = [];
  for (const [path, slots] of Map.groupBy(resources, ({ resource }) => toPattern(resource))) {
    if (context.modules.length + modules.length >= MODULES_MAX) {
      leftOut.push(path);
      continue;
    }
    const rowSets = proposeRowSets(path, slots, proposal);
    if (rowSets.some(({ resource }) => resource)) {
      const help = `Guessed by discover from what routers answer for ${path}.`;
      modules.push({ name: takeModuleName(path, moduleNames), help, rowSets });
    } else remarks.push(...rowSets);
  }
  return { resources: resources.map(toDiscovered), modules, remarks, leftOut };
}

/** A resource and one router's answer for it. */
interface Answered {
  readonly resource: string;
  readonly document: unknown;
  readonly rowSets: readonly SeenRowSet[];
  readonly coverage: Coverage;
}

/** Proposes metrics for all rows of a resource, over all its slots, that have fields which no module covers. */
function proposeRowSets(path: string, slots: readonly Answered[], context: ProposalContext): readonly ProposedRowSet[] {
  const rowSets = exploreDocuments(slots.map(({ document }) => document));
  return rowSets.flatMap((rowSet) => {
    const isCovered = ({ name }: SeenField) => slots.some(({ coverage }) => coverage(rowSet.each, name).length > 0);
    const fields = rowSet.fields.filter((field) => !isCovered(field));
    const outer = rowSets.find(({ each }) => each === rowSet.outer);
    return fields.length === 0 ? [] : [proposeRowSet({ path, rowSet, outer, fields }, context)];
  });
}

/** Generalises a card that can be in several slots: `lte*` for `lte2`. */
function toPattern(resource: string): string {
  const pattern = resource.replace(/^([a-z_]+)\d(?=\/|$)/, '$1*');
  return STATUS_PATHS.includes(resource) && expandPath(pattern).includes(resource) ? pattern : resource;
}

/**
 * Returns a module name derived from the resource that no other module has: a module with the same name would replace
 * it.
 */
function takeModuleName(path: string, taken: Set<string>): string {
  const stem = toSnakeCase(path).slice(0, 100) || 'resource';
  const isFree = (name: string) => name !== 'default' && !taken.has(name);
  let name = stem;
  for (let count = 1; !isFree(name); count++) name = count === 1 ? `${stem}_more` : `${stem}_more_${count}`;
  taken.add(name);
  return name;
}

function toDiscovered({ resource, rowSets, coverage }: Answered): DiscoveredResource {
  const fields = rowSets.flatMap(({ each, fields: seen }) =>
    seen.map(({ name }) => ({ each, name, modules: coverage(each, name) })),
  );
  const outermost = rowSets.filter(({ each, fields: seen }) => !each.includes('[]') && seen.length > 0);
  return { resource, rows: outermost.reduce((sum, { rows }) => sum + rows, 0), fields };
}

/** Returns the names of the modules that use a field of the rows at a path. */
type Coverage = (each: string, field: string) => readonly string[];

/** Returns what the modules cover of a resource such as `lte2`, whose documents have these row paths. */
function findCoverage(
  resource: string,
  rowSets: readonly SeenRowSet[],
  modules: readonly ModuleDefinition[],
): Coverage {
  const outerOf = new Map(rowSets.map(({ each, outer }) => [each.toLowerCase(), outer?.toLowerCase()]));
  const readers = compileModules(modules).flatMap(({ definition: { name }, resources }) =>
    resources
      .filter(({ definition: { path } }) => !path.startsWith('/') && expandPath(path).includes(resource))
      .map((compiled) => ({ module: name, each: compiled.definition.each.toLowerCase(), compiled })),
  );
  return (each, field) => {
    const rowSet = each.toLowerCase();
    const covering = readers.filter(
      (reader) =>
        (reader.each === rowSet && reader.compiled.coversField(field)) ||
        (outerOf.get(reader.each) === rowSet && reader.compiled.coversField(field, 1)),
    );
    return [...new Set(covering.map(({ module }) => module))];
  };
}
