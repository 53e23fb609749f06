import type { FamilyDescription } from '../../model/index.ts';
import { type ConfigFile, findNearest, type Place, renderPlace } from '../../settings/index.ts';
import { MODULES_MAX } from './bounds.ts';
import { checkFamilies, listFamilies, type PlacedFamily } from './check-families.ts';
import { checkModule } from './check-module.ts';
import { checkMetricFilter, filterModules, type MetricFilter } from './metric-filter.ts';
import { type ListedModule, type ModuleDefinition, toDefinition } from './module-definition.ts';
import { DEFAULT_SET, type ModuleSettings } from './module-schema.ts';

/** A module that routers can have: a shipped one, perhaps with an interval of the user, or one of the user. */
export interface ActiveModule {
  readonly listed: ListedModule;
  readonly settings: ModuleSettings;
  readonly isDefault: boolean;
}

/**
 * Puts the modules of the user beside and over the shipped ones, which come first and keep their order. A module of the
 * user with the name of a shipped one takes its place, in the default set too.
 */
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

/** A shipped module at another pace; `undefined` when that is not what was written. */
function overrideInterval(
  listed: ListedModule,
  below: ActiveModule | undefined,
  active: ReadonlyMap<string, ActiveModule>,
): ActiveModule | undefined {
  const { name, place, settings } = listed;
  const { file, path } = place;
  // What is faulty may only be a misspelt key.
  if (file.faults.covers(path) || file.faults.touches(path)) return undefined;
  if (!below) {
    const nearest = findNearest(name, [...active.keys()]);
    const message = 'Missing key; expected what is read, because no module of this name is shipped';
    file.faults.add([...path, 'resources'], message, { nearest });
    return undefined;
  }
  for (const key of ['help', 'identity'] as const) {
    if (!isSet(listed, key)) continue;
    const message = `"${key}" needs "resources" beside it; of a shipped module only the interval can be changed alone`;
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

/** The list of modules of a router, or of what it inherits, and where that stands. */
interface PlacedList extends Place {
  readonly layer: { readonly modules?: readonly string[] | undefined };
}

/** A family that the agent itself exposes. */
export interface AgentFamily extends FamilyDescription {
  /** Labels beside `router` and the router's own. */
  readonly labels?: readonly string[] | undefined;
}

/** A label that is put on series, and by whom. */
interface LabelOwner {
  readonly metric: string;
  readonly module: ActiveModule;
  readonly path: readonly (string | number)[];
}

/** The modules that there are, checked, and which of them a router has. */
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

  /** Adds a fault to its file for everything that is wrong with the modules. */
  constructor(
    shipped: readonly ListedModule[],
    own: readonly ListedModule[],
    agentFamilies: readonly AgentFamily[] = [],
  ) {
    const active = collectModules(shipped, own);
    for (const module of [...shipped, ...own]) checkModule(module);
    this.families = active.flatMap(({ listed }) => listFamilies(listed));
    checkFamilies(this.families, agentFamilies);
    const defined = active.map((module) => ({ module, definition: toDefinition(module.listed.name, module.settings) }));
    this.modules = defined.map(({ module, definition }) => ({ definition, isDefault: module.isDefault }));
    this.#active = new Map(defined.map(({ module, definition }) => [definition, module]));
    this.#byName = new Map(defined.map(({ definition }) => [definition.name, definition]));
    this.#agentLabels = new Map(
      agentFamilies.flatMap(({ name, labels = [] }) => labels.map((label) => [label, name] as const)),
    );
  }

  /** The modules of a router whose list is the one of `layer`; the same list of definitions for the same modules. */
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

  /** Returns a selection of modules without the metrics that a filter removes; the same list for the same filter. */
  filter(modules: readonly ModuleDefinition[], filter: MetricFilter): readonly ModuleDefinition[] {
    if (filter.allow === undefined && (filter.deny ?? []).length === 0) return modules;
    const key = JSON.stringify([modules.map(({ name }) => name), filter]);
    const known = this.#filtered.get(key) ?? filterModules(modules, filter);
    this.#filtered.set(key, known);
    return known;
  }

  /** Says, for a message about the file `from`, what has this label on the series of a router with these modules. */
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
