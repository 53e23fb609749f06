import type { FamilyDescription } from '../../model/index.ts';
import { type ConfigFile, findNearest, type Place, renderPlace, toFamilyName } from '../../settings/index.ts';
import { checkModule } from './check-module.ts';
import { COUNT, MODULES_MAX } from './grammar.ts';
import { checkMetricFilter, filterModules, type MetricFilter } from './metric-filter.ts';
import {
  DEFAULT_SET,
  type ListedModule,
  type MetricDefinition,
  type ModuleDefinition,
  type ModuleSettings,
  toDefinition,
} from './module-schema.ts';

/** A module that routers can have: a shipped one, possibly with the user's interval, or one of the user. */
interface ActiveModule {
  readonly listed: ListedModule;
  readonly settings: ModuleSettings;
  readonly isDefault: boolean;
}

/** Shipped modules come first. A user's module replaces the shipped one of the same name, also in the default set. */
function collectModules(shipped: readonly ListedModule[], own: readonly ListedModule[]): ActiveModule[] {
  const active = new Map<string, ActiveModule>(
    shipped.map((listed) => {
      const { settings } = listed;
      return [listed.name, { listed, settings, isDefault: settings.default !== false }];
    }),
  );
  const taken = new Map<string, ListedModule>();
  for (const listed of own) {
    const earlier = taken.get(listed.name);
    const { file, path } = listed.place;
    if (earlier) {
      const message = `The name "${listed.name}" is already taken ${renderPlace(earlier.place, file)}; each of the modules needs a name of its own`;
      file.faults.add(path, message, { aim: 'key' });
      continue;
    }
    taken.set(listed.name, listed);
    const below = active.get(listed.name);
    const merged = isSet(listed, 'resources') ? toActive(listed, below) : overrideInterval(listed, below, active);
    if (merged) active.set(listed.name, merged);
    if (active.size > MODULES_MAX) {
      file.faults.add(path, `There are more than ${MODULES_MAX} modules`, { aim: 'key' });
      break;
    }
  }
  return [...active.values()];
}

function toActive(listed: ListedModule, below: ActiveModule | undefined): ActiveModule {
  return { listed, settings: listed.settings, isDefault: below?.isDefault ?? false };
}

/** Changes only the interval of a shipped module; `undefined` with a fault. */
function overrideInterval(
  listed: ListedModule,
  below: ActiveModule | undefined,
  active: ReadonlyMap<string, ActiveModule>,
): ActiveModule | undefined {
  const { name, place, settings } = listed;
  const { file, path } = place;
  // A key with another fault may only be misspelt.
  if (file.faults.covers(path) || file.faults.touches(path)) return undefined;
  if (!below) {
    const nearest = findNearest(name, [...active.keys()]);
    const message = 'Missing key; a module that is not shipped needs "resources"';
    file.faults.add([...path, 'resources'], message, { nearest });
    return undefined;
  }
  for (const key of ['help', 'identity'] as const) {
    if (!isSet(listed, key)) continue;
    const message = `"${key}" requires "resources"; without it, only the interval of a shipped module can be changed`;
    file.faults.add([...path, key], message, { aim: 'key' });
  }
  if (!isSet(listed, 'interval') && !isSet(listed, 'min_interval')) {
    file.faults.add(
      path,
      'Expected "interval" or "min_interval" to change the shipped module, or "resources" to replace it',
    );
  }
  const { interval, min_interval } = settings;
  return { ...below, settings: { ...below.settings, interval, min_interval } };
}

function isSet({ place: { file, path } }: ListedModule, key: keyof ModuleSettings): boolean {
  return file.source.valueAt([...path, key]) !== undefined;
}

/** A metric of a module and its position. */
export interface PlacedFamily extends FamilyDescription {
  readonly module: string;
  readonly place: Place;
}

/**
 * Rejects a metric whose name another metric, or the agent, uses differently. Names are compared as in OpenMetrics, where a counter
 * `a_total`, an info metric `a_info` and a gauge `a` are all the family `a`.
 */
function checkFamilies(families: readonly PlacedFamily[], agentFamilies: readonly FamilyDescription[]): void {
  const ofAgent = new Map(agentFamilies.map((family) => [toFamilyName(family), family.name]));
  const first = new Map<string, PlacedFamily>();
  for (const family of families) {
    const { file, path } = family.place;
    const key = toFamilyName(family);
    const agentName = ofAgent.get(key);
    if (agentName !== undefined) {
      const as =
        agentName === family.name ? 'this metric' : `${agentName}, which OpenMetrics cannot distinguish from this one`;
      file.faults.add([...path, 'name'], `The agent itself exposes ${as}; choose another name`);
      continue;
    }
    const other = first.get(key);
    if (!other) first.set(key, family);
    else refuseDifference(family, other);
  }
}

/**
 * Returns, by the names of the families, the fields and resources that they are polled from, such as `SNR, SINR of lte*`. Those of the
 * shipped modules come first, then those of the first module of the user that has the family: one more module changes no other.
 */
function describeOrigins(
  shipped: readonly ModuleDefinition[],
  own: readonly ModuleDefinition[],
): ReadonlyMap<string, string> {
  const groups = [...own.toReversed().map((one) => [one]), shipped];
  return new Map(groups.flatMap((group) => [...describeFamilies(group.flatMap(({ resources }) => resources))]));
}

/** Adds to the helps of modules that no configuration has what their families are polled from. */
export function nameOrigins(own: readonly ModuleDefinition[]): readonly ModuleDefinition[] {
  const origins = describeOrigins([], own);
  return own.map((one) => addOrigins(one, origins));
}

function describeFamilies(resources: ModuleDefinition['resources']): ReadonlyMap<string, string> {
  const families = new Map<string, Map<string, readonly string[]>>();
  for (const { path, metrics } of resources) {
    for (const metric of metrics) {
      const byPath = families.get(metric.name) ?? new Map<string, readonly string[]>();
      byPath.set(path, [...(byPath.get(path) ?? []), ...listFields(metric)]);
      families.set(metric.name, byPath);
    }
  }
  return new Map(
    [...families].map(([name, byPath]) => {
      const paths = Map.groupBy(byPath.keys(), (path) => [...new Set(byPath.get(path))].join(', '));
      return [name, [...paths].map(([fields, those]) => `${fields} of ${those.join(', ')}`).join('; ')];
    }),
  );
}

function addOrigins(definition: ModuleDefinition, origins: ReadonlyMap<string, string>): ModuleDefinition {
  const addTo = ({ help, ...metric }: MetricDefinition) => {
    const sentence = help.replace(/[^.!?]$/, '$&.');
    return { ...metric, help: `${sentence} Polled from ${origins.get(metric.name)}.` };
  };
  const resources = definition.resources.map((one) => ({ ...one, metrics: one.metrics.map(addTo) }));
  return { ...definition, resources };
}

function listFields({ type, value, labels }: MetricDefinition): readonly string[] {
  if (type !== 'info') return [value === undefined || value === COUNT ? 'the rows' : value];
  // Other sources than fields begin with `$` or `=`; a field of another row has a mark before its name.
  const fields = Object.values(labels).filter((source) => !/^[$=]/.test(source));
  return fields.length === 0 ? ['the rows'] : fields.map((source) => source.replace(/^(\.\.|@)/, ''));
}

function refuseDifference(family: PlacedFamily, other: PlacedFamily): void {
  const { file, path } = family.place;
  const place = `of the module "${other.module}" ${renderPlace(other.place, file)}`;
  if (other.name !== family.name) {
    const message = `OpenMetrics cannot distinguish this name from ${other.name} ${place}; choose another one`;
    file.faults.add([...path, 'name'], message);
  } else if (other.type !== family.type) {
    const message = `${family.name} ${place} has the type "${other.type}"; a name has one type everywhere`;
    file.faults.add([...path, 'type'], message);
  } else if (other.help !== family.help) {
    const message = `${family.name} ${place} has another help; a name has one help everywhere`;
    file.faults.add([...path, 'help'], message);
  }
}

function listFamilies({ name: module, settings, place }: ListedModule): PlacedFamily[] {
  return (settings.resources ?? []).flatMap(({ metrics = [] }, resource) =>
    metrics.flatMap(({ name, help, type }, metric) => {
      if (name === undefined || help === undefined || type === undefined) return [];
      const path = [...place.path, 'resources', resource, 'metrics', metric];
      return [{ name, help, type, module, place: { file: place.file, path } }];
    }),
  );
}

/** The list of modules of a router, or of a layer that it inherits, and its position. */
interface PlacedList extends Place {
  readonly layer: { readonly modules?: readonly string[] | undefined };
}

/** A family of the agent itself. */
export interface AgentFamily extends FamilyDescription {
  /** Labels besides `router` and the router's own. */
  readonly labels?: readonly string[] | undefined;
}

interface LabelOwner {
  readonly metric: string;
  readonly module: ActiveModule;
  readonly path: readonly (string | number)[];
}

/** All checked modules; selects those of a router. */
export class ModuleRegistry {
  readonly modules: readonly { readonly definition: ModuleDefinition; readonly isDefault: boolean }[];
  /** The metrics of all modules. */
  readonly families: readonly PlacedFamily[];
  readonly #active: ReadonlyMap<ModuleDefinition, ActiveModule>;
  readonly #byName: ReadonlyMap<string, ModuleDefinition>;
  readonly #agentLabels: ReadonlyMap<string, string>;
  readonly #selections = new Map<string, readonly ModuleDefinition[]>();
  readonly #filtered = new Map<string, readonly ModuleDefinition[]>();
  readonly #labels = new Map<readonly ModuleDefinition[], ReadonlyMap<string, LabelOwner>>();

  /** Adds the faults of the modules to their files. */
  constructor(
    shipped: readonly ListedModule[],
    own: readonly ListedModule[],
    agentFamilies: readonly AgentFamily[] = [],
  ) {
    const active = collectModules(shipped, own);
    for (const module of [...shipped, ...own]) checkModule(module);
    this.families = active.flatMap(({ listed }) => listFamilies(listed));
    checkFamilies(this.families, agentFamilies);
    const bare = active.map((module) => ({ module, definition: toDefinition(module.listed.name, module.settings) }));
    const listDefinitions = (areShipped: boolean) =>
      bare.filter(({ module }) => module.listed.isShipped === areShipped).map(({ definition }) => definition);
    const origins = describeOrigins(listDefinitions(true), listDefinitions(false));
    const defined = bare.map(({ module, definition }) => ({ module, definition: addOrigins(definition, origins) }));
    this.modules = defined.map(({ module, definition }) => ({ definition, isDefault: module.isDefault }));
    this.#active = new Map(defined.map(({ module, definition }) => [definition, module]));
    this.#byName = new Map(defined.map(({ definition }) => [definition.name, definition]));
    this.#agentLabels = new Map(
      agentFamilies.flatMap(({ name, labels = [] }) => labels.map((label) => [label, name] as const)),
    );
  }

  /** Returns the modules for the list of `layer`; the same array for the same modules. */
  select(layer: PlacedList | undefined): readonly ModuleDefinition[] {
    const chosen = new Set<ModuleDefinition>();
    const excluded = new Set<ModuleDefinition>();
    for (const [index, item] of (layer?.layer.modules ?? [DEFAULT_SET]).entries()) {
      const isExcluded = item.startsWith('!');
      const name = isExcluded ? item.slice(1) : item;
      const found = this.#find(name);
      if (!found && layer) this.#refuseName(name, layer, index);
      for (const definition of found ?? []) (isExcluded ? excluded : chosen).add(definition);
    }
    const selected = this.modules
      .map(({ definition }) => definition)
      .filter((it) => chosen.has(it) && !excluded.has(it));
    const key = selected.map(({ name }) => name).join(' ');
    const known = this.#selections.get(key);
    if (known) return known;
    this.#selections.set(key, selected);
    return selected;
  }

  /** Rejects globs of the section `metrics` at `place` that match no metric. */
  checkFilter(filter: MetricFilter, place: Place): void {
    checkMetricFilter(filter, this.families, place);
  }

  /** Returns modules without the metrics that a filter removes; the same array for the same filter. */
  filter(modules: readonly ModuleDefinition[], filter: MetricFilter): readonly ModuleDefinition[] {
    if (filter.allow === undefined && (filter.deny ?? []).length === 0) return modules;
    const key = JSON.stringify([modules.map(({ name }) => name), filter]);
    const known = this.#filtered.get(key) ?? filterModules(modules, filter);
    this.#filtered.set(key, known);
    return known;
  }

  /** Returns, for a message about the file `from`, what sets this label on the series of a router with these modules. */
  findLabelOwner(label: string, modules: readonly ModuleDefinition[], from: ConfigFile): string | undefined {
    const agentFamily = this.#agentLabels.get(label);
    if (agentFamily !== undefined) return `${agentFamily}, which the agent itself exposes`;
    let labels = this.#labels.get(modules);
    if (!labels) {
      labels = this.#listLabels(modules);
      this.#labels.set(modules, labels);
    }
    const owner = labels.get(label);
    if (!owner) return undefined;
    const { name, place } = owner.module.listed;
    const where = renderPlace({ file: place.file, path: [...place.path, ...owner.path] }, from);
    return `${owner.metric} of the module "${name}" ${where}`;
  }

  #find(name: string): readonly ModuleDefinition[] | undefined {
    if (name === DEFAULT_SET) {
      return this.modules.filter(({ isDefault }) => isDefault).map(({ definition }) => definition);
    }
    const found = this.#byName.get(name);
    return found && [found];
  }

  #refuseName(name: string, { file, path }: PlacedList, index: number): void {
    const names = [DEFAULT_SET, ...this.#byName.keys()];
    const nearest = findNearest(name, names);
    const message = `There is no module "${name}"`;
    file.faults.add(
      [...path, 'modules', index],
      nearest === undefined ? `${message}; there are: ${names.join(', ')}` : message,
      { nearest },
    );
  }

  #listLabels(modules: readonly ModuleDefinition[]): ReadonlyMap<string, LabelOwner> {
    const owners = new Map<string, LabelOwner>();
    for (const definition of modules) {
      const module = this.#active.get(definition);
      if (!module) continue;
      for (const [resource, { labels, metrics = [] }] of (module.settings.resources ?? []).entries()) {
        const path = ['resources', resource];
        const first = metrics[0]?.name ?? 'a metric';
        for (const label of Object.keys(labels ?? {})) {
          owners.set(label, { metric: first, module, path: [...path, 'labels', label] });
        }
        for (const [index, metric] of metrics.entries()) {
          const metricPath = [...path, 'metrics', index];
          const own = Object.keys(metric.labels ?? {}).map((label) => [label, 'labels', label] as const);
          const state =
            metric.type === 'stateset' && metric.state_label !== undefined ? [[metric.state_label] as const] : [];
          for (const [label, ...steps] of [...own, ...state]) {
            owners.set(label, { metric: metric.name ?? first, module, path: [...metricPath, ...steps] });
          }
        }
      }
    }
    return owners;
  }
}
