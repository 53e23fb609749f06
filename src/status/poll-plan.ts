import type { StatusReader } from './contracts.ts';
import { type CompiledResource, compileModules } from './mapping/compile-modules.ts';
import type { CompiledJoin } from './mapping/join.ts';
import type { ModuleDefinition, ModuleReader } from './module-settings/module-definition.ts';
import type { ResourceCapability } from './poll-result.ts';
import { expandPath } from './status-paths.ts';

/** Available readers by name. */
export type StatusReaders = Readonly<Partial<Record<ModuleReader, StatusReader>>>;

/** A unit of polling: a path with everything derived from it, or a reader. */
export interface PollTarget {
  /** Its place in the plan. */
  readonly index: number;
  /** Value of the label `resource`: the path without a leading slash, or the reader's name. */
  readonly name: string;
  readonly path: string;
  /** Compiled resources, ordered by module. */
  readonly resources: readonly CompiledResource[];
  /** Name of the reader that is asked instead of the router. */
  readonly reader: ModuleReader | undefined;
  readonly modules: readonly string[];
  readonly isIdentity: boolean;
  /** The shortest interval of its modules. Milliseconds. */
  readonly intervalMs: number;
  /** True if a module names exactly this path. */
  readonly isNamed: boolean;
  readonly isOptional: boolean;
  /** Joins that take rows of its documents. */
  readonly feeds: readonly CompiledJoin[];
  /** Paths of the targets that it is joined with. */
  readonly needs: readonly string[];
  /** True if conditions decide what is mapped, or whether it is asked for. */
  readonly isConditional: boolean;
}

/** A path with a star, and the targets it can match. */
interface PollPattern {
  readonly path: string;
  readonly names: readonly string[];
  readonly isOptional: boolean;
}

/** Resources that are read from a router, and their intervals. */
export interface PollPlan {
  /** Identity first, then what others are joined with, then in the order of the modules, and readers last: they may depend on what was read before. */
  readonly targets: readonly PollTarget[];
  readonly patterns: readonly PollPattern[];
  /** The same targets by path. */
  readonly byPath: ReadonlyMap<string, PollTarget>;
  /** The shortest interval. Milliseconds. */
  readonly tickMs: number;
  /** The names of the targets, each with a number of its own from 0 on. */
  readonly names: ReadonlyMap<string, number>;
  /** Capabilities by name and answer, shared by all routers with the same ones. */
  readonly capabilities: Map<string, ResourceCapability>;
}

/** Every device has it, and it says which device that is. It is read if there is nothing else to read. */
export const PROBE = 'device_info';

/**
 * Returns the interval of a module: its own or the router's status interval, but not below its minimum. Milliseconds.
 */
function toIntervalMs(module: ModuleDefinition, routerIntervalMs: number): number {
  return module.intervalMs ?? Math.max(routerIntervalMs, module.minIntervalMs ?? 0);
}

/** Thousands of routers share a few plans. */
const plans = new WeakMap<readonly ModuleDefinition[], Map<string, PollPlan>>();

/**
 * Creates the poll plan of modules; `intervalMs` is the router's status interval. A module whose reader is absent is
 * left out. The same list of modules gives the same plan.
 */
export function createPollPlan(
  modules: readonly ModuleDefinition[],
  intervalMs: number,
  readers: StatusReaders = {},
): PollPlan {
  const ofModules = plans.get(modules) ?? new Map<string, PollPlan>();
  plans.set(modules, ofModules);
  const names = Object.entries(readers).flatMap(([name, reader]) => (reader ? [name] : []));
  const key = [intervalMs, ...names.toSorted()].join(' ');
  const plan = ofModules.get(key) ?? composePlan(modules, intervalMs, new Set(names));
  ofModules.set(key, plan);
  return plan;
}

function composePlan(modules: readonly ModuleDefinition[], intervalMs: number, readers: ReadonlySet<string>): PollPlan {
  const merged = new Map<string, TargetDraft>();
  const patterns = new Map<string, PollPattern>();
  const add = (key: string, target: TargetDraft) => merged.set(key, mergeTargets(merged.get(key), target));
  for (const { definition, resources } of compileModules(modules)) {
    const { name, reader, isIdentity } = definition;
    const own = { modules: [name], isIdentity };
    const everyMs = toIntervalMs(definition, intervalMs);
    // A reader runs once per poll; a second module that uses it can only make it run more often.
    if (reader && readers.has(reader)) {
      add(`reader:${reader}`, { ...createTarget('', everyMs), ...own, name: reader, reader, isOptional: true });
    }
    for (const resource of resources) {
      const { join, isConditional } = resource;
      const { path, isOptional } = resource.definition;
      const paths = expandPath(path);
      const isNamed = paths.length === 1 && paths[0] === path;
      const needs = join ? [join.definition.path] : [];
      const about = { ...own, resources: [resource], isNamed, isOptional, needs, isConditional };
      for (const one of paths) add(one, { ...createTarget(one, everyMs), ...about });
      if (join) {
        const { path: other } = join.definition;
        add(other, { ...createTarget(other, everyMs), modules: [name], feeds: [join], isOptional: true });
      }
      if (isNamed) continue;
      const isSure = isOptional && patterns.get(path)?.isOptional !== false;
      patterns.set(path, { path, names: paths, isOptional: isSure });
    }
  }
  const isConditional = [...merged.values()].some((target) => target.isConditional);
  if (isConditional && !merged.has(PROBE)) {
    // Read after each login: another firmware needs a restart.
    merged.set(PROBE, { ...createTarget(PROBE, Math.max(intervalMs, DEVICE_INTERVAL_MS)), isIdentity: true });
  }
  if (merged.size === 0) merged.set(PROBE, createTarget(PROBE, intervalMs));
  const ordered = [...merged.values()].toSorted((a, b) => toRank(a) - toRank(b));
  const targets = ordered.map((target, index): PollTarget => ({ index, ...target }));
  return {
    targets,
    patterns: [...patterns.values()],
    byPath: new Map(targets.map((target) => [target.path, target])),
    tickMs: Math.min(...targets.map((target) => target.intervalMs)),
    names: new Map([...new Set(targets.map(({ name }) => name))].map((name, index) => [name, index])),
    capabilities: new Map(),
  };
}

/** A target before its place is known. */
type TargetDraft = Omit<PollTarget, 'index'>;

function mergeTargets(known: TargetDraft | undefined, added: TargetDraft): TargetDraft {
  if (!known) return added;
  return {
    ...known,
    resources: [...known.resources, ...added.resources],
    modules: [...new Set([...known.modules, ...added.modules])],
    isIdentity: known.isIdentity || added.isIdentity,
    intervalMs: Math.min(known.intervalMs, added.intervalMs),
    isNamed: known.isNamed || added.isNamed,
    isOptional: known.isOptional && added.isOptional,
    feeds: [...known.feeds, ...added.feeds.filter((join) => !known.feeds.includes(join))],
    needs: [...new Set([...known.needs, ...added.needs])],
    isConditional: known.isConditional || added.isConditional,
  };
}

function toRank({ isIdentity, reader, path, feeds }: TargetDraft): number {
  if (isIdentity || path === PROBE) return 0;
  if (reader) return 3;
  return feeds.length > 0 ? 1 : 2;
}

/** Interval of `device_info` if only conditions need it. Milliseconds. */
const DEVICE_INTERVAL_MS = 3_600_000;

/** A target that no module asks for. */
function createTarget(path: string, intervalMs: number): TargetDraft {
  return {
    name: path.replace(/^\//, ''),
    path,
    resources: [],
    reader: undefined,
    modules: [],
    isIdentity: false,
    intervalMs,
    isNamed: true,
    isOptional: false,
    feeds: [],
    needs: [],
    isConditional: false,
  };
}
