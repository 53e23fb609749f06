import type { FamilyDescription } from '../../model/index.ts';
import { compileModules } from '../mapping/compile-modules.ts';
import { MODULES_MAX } from '../module-settings/grammar.ts';
import type { ModuleDefinition } from '../module-settings/module-schema.ts';
import { findRefusal, SilenceCount, StatusError } from '../poller/ask.ts';
import { expandPath, STATUS_PATHS } from '../status-paths.ts';
import { DocumentMasker } from './document-masker.ts';
import { exploreDocuments, type SeenField, type SeenRowSet } from './explore-documents.ts';
import { MetricNames, toSnakeCase } from './metric-names.ts';
import { type ProposalContext, type ProposedModule, type ProposedRowSet, proposeRowSet } from './propose-row-set.ts';

/** `no_rights`: the account may not read it; `error`: anything that may succeed next time. */
type ResourceAnswer = 'yes' | 'absent' | 'no_rights' | 'error';

interface AskedResource {
  readonly resource: string;
  readonly answer: ResourceAnswer;
  /** The error thrown by the source, for `error` only. */
  readonly error?: unknown;
}

/** Answers of one router. */
export interface AskedRouter {
  readonly asked: readonly AskedResource[];
  readonly documents: ReadonlyMap<string, unknown>;
  /** The error that ended the discovery early because the router is unavailable. */
  readonly gone?: { readonly resource: string; readonly error: unknown };
}

/** Of all documents of a router. Real ones have about ten thousand characters. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

const ANSWERS = { unsupported: 'absent', forbidden: 'no_rights' } as const;

/**
 * Reads resources from a router in sequence. A failed one does not affect the others; if the router becomes unavailable, the rest is not
 * read. Rejects only with the signal's reason. `onAsk` is called before each resource is read.
 */
export async function askResources(
  source: { readStatus(resource: string, signal: AbortSignal): Promise<unknown> },
  resources: readonly string[],
  signal: AbortSignal,
  onAsk: (resource: string, index: number) => void,
): Promise<AskedRouter> {
  const asked: AskedResource[] = [];
  const documents = new Map<string, unknown>();
  let characters = 0;
  const silences = new SilenceCount();
  for (const [index, resource] of resources.entries()) {
    onAsk(resource, index);
    try {
      const document = await source.readStatus(resource, signal);
      silences.isGoneAfter(undefined);
      const length = measure(document);
      if (characters + length > CHARACTERS_MAX)
        throw new StatusError(`The documents of this router are too long to keep ${resource}`);
      characters += length;
      asked.push({ resource, answer: 'yes' });
      documents.set(resource, document);
    } catch (error) {
      signal.throwIfAborted();
      if (silences.isGoneAfter(error)) return { asked, documents, gone: { resource, error } };
      const refusal = findRefusal(error);
      asked.push(refusal ? { resource, answer: ANSWERS[refusal] } : { resource, answer: 'error', error });
    }
  }
  return { asked, documents };
}

/** Too deep nesting counts as over the limit. */
function measure(document: unknown): number {
  try {
    return JSON.stringify(document)?.length ?? 0;
  } catch {
    return Infinity;
  }
}

interface DiscoveredField {
  readonly each: string;
  readonly name: string;
  readonly modules: readonly string[];
}

interface DiscoveredResource {
  readonly resource: string;
  /** Number of rows that are not nested in other rows. */
  readonly rows: number;
  readonly fields: readonly DiscoveredField[];
}

/** Fields of a router that modules cover, and modules proposed for the others. */
export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Proposed modules for fields that no module covers. */
  readonly modules: readonly ProposedModule[];
  /** Paths with uncovered fields that cannot become a metric. */
  readonly remarks: readonly ProposedRowSet[];
  /** Resources left out because the limit of modules was reached. */
  readonly leftOut: readonly string[];
}

interface DiscoveryContext {
  /** All known modules, whether or not the router has them. */
  readonly modules: readonly ModuleDefinition[];
  readonly agentFamilies: readonly FamilyDescription[];
  /** Labels that the router's configuration adds to all its series. */
  readonly labels: readonly string[];
}

/** Finds the fields that no module covers in a router's documents (by resource), and proposes modules for them. Pure. */
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
      const help = `Proposed by discover from the answers of routers for ${path}.`;
      modules.push({ name: takeModuleName(path, moduleNames), help, rowSets });
    } else remarks.push(...rowSets);
  }
  return { resources: resources.map(toDiscovered), modules, remarks, leftOut };
}

interface Answered {
  readonly resource: string;
  readonly document: unknown;
  readonly rowSets: readonly SeenRowSet[];
  readonly coverage: Coverage;
}

/** All slots of a resource are examined together. */
function proposeRowSets(path: string, slots: readonly Answered[], context: ProposalContext): readonly ProposedRowSet[] {
  const rowSets = exploreDocuments(slots.map(({ document }) => document));
  return rowSets.flatMap((rowSet) => {
    const isCovered = ({ name }: SeenField) => slots.some(({ coverage }) => coverage(rowSet.each, name).length > 0);
    const fields = rowSet.fields.filter((field) => !isCovered(field));
    const outer = rowSets.find(({ each }) => each === rowSet.outer);
    return fields.length === 0 ? [] : [proposeRowSet({ path, rowSet, outer, fields }, context)];
  });
}

/** `lte*` for `lte2`: the card can be in several slots. */
function toPattern(resource: string): string {
  const pattern = resource.replace(/^([a-z_]+)\d(?=\/|$)/, '$1*');
  return STATUS_PATHS.includes(resource) && expandPath(pattern).includes(resource) ? pattern : resource;
}

/** A module with the name of another one would replace it. */
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

/** `resource`: such as `lte2`. `rowSets`: the row paths of its documents. */
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
