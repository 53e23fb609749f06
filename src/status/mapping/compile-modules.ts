import type { MetricFamily } from '../../model/index.ts';
import type { ModuleDefinition, ResourceDefinition } from '../module-settings/module-definition.ts';
import { COUNT, compileMetric } from './compile-metric.ts';
import { FamilyCollector } from './family-collector.ts';
import type { MappingFault } from './mapping-fault.ts';
import { RowPath } from './rows.ts';

/** Context for mapping a document. */
export interface MappingContext {
  /** The resource that was read, such as `lte2`. */
  readonly resource: string;
  /** Time of reading by this machine's clock. Milliseconds since the Unix epoch. */
  readonly readAtMs: number;
  /** IANA name of the router's zone. If absent, dates are read as UTC, and the offset of its clock is unknown. */
  readonly zone: string | undefined;
}

/** Result of mapping a document. */
export interface Mapping {
  /** True if the document has the rows that `each` names. Otherwise the other fields have no meaning. */
  readonly isFound: boolean;
  readonly module: string;
  /** Families with samples. */
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** True if a field read by a metric was present, even if its value means "nothing". */
  readonly isRecognised: boolean;
}

/** A compiled resource of a module. */
export interface CompiledResource {
  readonly definition: ResourceDefinition;
  /**
   * Maps a document. Pure: the same document gives the same mapping. Accepts anything a router can send, and never
   * throws.
   */
  map(document: unknown, context: MappingContext): Mapping;
  /**
   * Returns true if a field of a row becomes a value or a label; `levelsUp` 1: a field of the enclosing row
   * (`..field`).
   */
  coversField(name: string, levelsUp?: number): boolean;
}

/** A module prepared for mapping. */
export interface CompiledModule {
  readonly definition: ModuleDefinition;
  readonly resources: readonly CompiledResource[];
}

/** Hundreds of routers share the definitions of a few modules. */
const compiled = new WeakMap<ModuleDefinition, CompiledModule>();

/** Compiles modules, each only once. Definitions have been checked before. */
export function compileModules(definitions: readonly ModuleDefinition[]): readonly CompiledModule[] {
  return definitions.map((definition) => {
    const known = compiled.get(definition);
    if (known) return known;
    const resources = definition.resources.map((resource) => compileResource(definition.name, resource));
    const module = { definition, resources };
    compiled.set(definition, module);
    return module;
  });
}

function compileResource(module: string, definition: ResourceDefinition): CompiledResource {
  const path = new RowPath(definition.each);
  const metrics = definition.metrics.map((metric) => compileMetric(metric, definition.labels));
  return {
    definition,
    map(document, { resource, readAtMs, zone }) {
      const found = path.find(document);
      if (!found) return { isFound: false, module, families: [], faults: [], isRecognised: false };
      const collector = new FamilyCollector(module);
      const context = { resource, slot: parseSlot(resource), readAtMs, zone };
      for (const metric of metrics) metric.map(found, context, collector);
      for (const { name, value } of definition.metrics) {
        if (found.isCut && value !== COUNT) collector.addFault(name, 'too_many');
      }
      const { families, faults, isRecognised } = collector;
      return { isFound: true, module, families, faults, isRecognised };
    },
    coversField: (name, levelsUp = 0) => metrics.some((metric) => metric.covers(name, levelsUp)),
  };
}

/** Returns the slot number: the digits at the end of a resource's first segment. */
function parseSlot(resource: string): string {
  return /^[^/]*?(\d+)(?:\/|$)/.exec(resource)?.[1] ?? '';
}
