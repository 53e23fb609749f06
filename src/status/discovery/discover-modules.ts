import type { FamilyDescription, ModuleDefinition } from '../../model/index.ts';
import { expandPath, STATUS_PATHS } from '../status-paths.ts';
import { DocumentMasker } from './document-masker.ts';
import { exploreDocuments, type SeenField, type SeenPlace } from './explore-documents.ts';
import { type Coverage, findCoverage } from './find-coverage.ts';
import { MetricNames, toSnakeCase } from './metric-names.ts';
import type { ProposedModule, ProposedPlace } from './proposal.ts';
import { type ProposalContext, proposePlace } from './propose-place.ts';

/** A field that a router's answer has, and the modules that make something of it. */
export interface DiscoveredField {
  readonly each: string;
  readonly name: string;
  readonly modules: readonly string[];
}

/** What a resource holds. */
export interface DiscoveredResource {
  readonly resource: string;
  /** Rows that are in no other row. */
  readonly rows: number;
  readonly fields: readonly DiscoveredField[];
}

export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** For what no module covers. */
  readonly modules: readonly ProposedModule[];
  /** Places with fields that no module covers, and that no metric can be made of. */
  readonly remarks: readonly ProposedPlace[];
  /** Resources that there was no room for. */
  readonly leftOut: readonly string[];
}

export interface DiscoveryContext {
  /** Every module that is known, whether or not the router has it. */
  readonly modules: readonly ModuleDefinition[];
  /** Families of the agent itself. */
  readonly agentFamilies: readonly FamilyDescription[];
  /** Labels that the router's configuration gives to all its series. */
  readonly labels: readonly string[];
}

/** Modules that a configuration may have. */
const MODULES_MAX = 100;

/** Finds in the documents of a router, by resource, what no module covers, and proposes modules for it. Pure. */
export function discoverModules(documents: ReadonlyMap<string, unknown>, context: DiscoveryContext): Discovery {
  const resources = [...documents].map(([resource, document]): Answered => {
    const places = exploreDocuments([document]);
    return { resource, document, places, coverage: findCoverage(resource, places, context.modules) };
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
  const remarks: ProposedPlace[] = [];
  const leftOut: string[] = [];
  for (const [path, slots] of Map.groupBy(resources, ({ resource }) => toPattern(resource))) {
    if (context.modules.length + modules.length >= MODULES_MAX) {
      leftOut.push(path);
      continue;
    }
    const places = proposePlaces(path, slots, proposal);
    if (places.some(({ resource }) => resource)) {
      const help = `Guessed by discover from what routers answer for ${path}.`;
      modules.push({ name: takeModuleName(path, moduleNames), help, places });
    } else remarks.push(...places);
  }
  return { resources: resources.map(toDiscovered), modules, remarks, leftOut };
}

/** A resource as one router answered for it. */
interface Answered {
  readonly resource: string;
  readonly document: unknown;
  readonly places: readonly SeenPlace[];
  readonly coverage: Coverage;
}

/** The places of all slots of a resource that have fields which no module covers. */
function proposePlaces(path: string, slots: readonly Answered[], context: ProposalContext): readonly ProposedPlace[] {
  const places = exploreDocuments(slots.map(({ document }) => document));
  return places.flatMap((place) => {
    const isCovered = ({ name }: SeenField) => slots.some(({ coverage }) => coverage(place.each, name).length > 0);
    const fields = place.fields.filter((field) => !isCovered(field));
    const outer = places.find(({ each }) => each === place.outer);
    return fields.length === 0 ? [] : [proposePlace({ path, place, outer, fields }, context)];
  });
}

/** A card that is known to be in several slots is meant in all of them: `lte*` for `lte2`. */
function toPattern(resource: string): string {
  const pattern = resource.replace(/^([a-z_]+)\d(?=\/|$)/, '$1*');
  return STATUS_PATHS.includes(resource) && expandPath(pattern).includes(resource) ? pattern : resource;
}

/** A name like that of the resource which no other module has: it would take its place. */
function takeModuleName(path: string, taken: Set<string>): string {
  const stem = toSnakeCase(path).slice(0, 100) || 'resource';
  const isFree = (name: string) => name !== 'default' && !taken.has(name);
  let name = stem;
  for (let count = 1; !isFree(name); count++) name = count === 1 ? `${stem}_more` : `${stem}_more_${count}`;
  taken.add(name);
  return name;
}

function toDiscovered({ resource, places, coverage }: Answered): DiscoveredResource {
  const fields = places.flatMap(({ each, fields: seen }) =>
    seen.map(({ name }) => ({ each, name, modules: coverage(each, name) })),
  );
  const outermost = places.filter(({ each, fields: seen }) => !each.includes('[]') && seen.length > 0);
  return { resource, rows: outermost.reduce((sum, { rows }) => sum + rows, 0), fields };
}
