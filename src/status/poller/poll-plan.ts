import { type CompiledResource, compileModules } from '../mapping/compile-modules.ts';
import type { CompiledJoin } from '../mapping/labels.ts';
import type { ModuleDefinition } from '../module-settings/module-schema.ts';
import { expandPath } from '../status-paths.ts';

/** A unit of polling: a path, or a reader. */
export interface PollTarget {
  readonly index: number;
  /** Value of the label `resource`: the path without a leading slash, or the reader's name. */
  readonly name: string;
  readonly path: string;
  readonly resources: readonly CompiledResource[];
  /** Name of the reader that is used instead of a request. */
  readonly reader: ModuleDefinition['reader'];
  readonly modules: readonly string[];
  readonly isIdentity: boolean;
  /** The shortest interval of its modules. Milliseconds. */
  readonly intervalMs: number;
  /** True if it is read less often than the router's status, or than the fastest module if none is as fast as that. */
  readonly isSlow: boolean;
  /** True if a module names exactly this path. */
  readonly isNamed: boolean;
  readonly isOptional: boolean;
  /** Joins that take rows of its documents. */
  readonly feeds: readonly CompiledJoin[];
  /** Paths of the targets that it is joined with. */
  readonly needs: readonly string[];
  /** True if conditions decide what is mapped, or whether it is read. */
  readonly isConditional: boolean;
}

/** A path with a star, and the paths that it can match. */
interface PollPattern {
  readonly name: string;
  readonly paths: readonly string[];
  readonly isOptional: boolean;
}

/** Resources that are read from a router, and their intervals. */
export interface PollPlan {
  /** Identity first, then targets that others are joined with, then in module order. Readers last: they depend on others. */
  readonly targets: readonly PollTarget[];
  readonly patterns: readonly PollPattern[];
  readonly byPath: ReadonlyMap<string, PollTarget>;
  /** The shortest interval. Milliseconds. */
  readonly tickMs: number;
}

/** Every device has this resource. It identifies the device, and is read if there is nothing else to read. */
export const DEVICE_INFO = 'device_info';

/** Thousands of routers share a few plans. */
const plans = new WeakMap<readonly ModuleDefinition[], Map<string, PollPlan>>();

/**
 * Creates the poll plan of modules; `intervalMs` is the router's status interval. Modules whose reader is not in `readers` are left out.
 * Returns the same plan for the same list of modules.
 */
export function createPollPlan(
  modules: readonly ModuleDefinition[],
  intervalMs: number,
  readers: readonly string[] = [],
): PollPlan {
  const ofModules = plans.get(modules) ?? new Map<string, PollPlan>();
  plans.set(modules, ofModules);
  const key = [intervalMs, ...readers.toSorted()].join(' ');
  const plan = ofModules.get(key) ?? composePlan(modules, intervalMs, readers);
  ofModules.set(key, plan);
  return plan;
}

function composePlan(
  modules: readonly ModuleDefinition[],
  routerIntervalMs: number,
  readers: readonly string[],
): PollPlan {
  const merged = new Map<string, TargetDraft>();
  const patterns = new Map<string, PollPattern>();
  const add = (key: string, target: TargetDraft) => merged.set(key, mergeTargets(merged.get(key), target));
  for (const { definition, resources } of compileModules(modules)) {
    const { name, reader, isIdentity, intervalMs, minIntervalMs = 0 } = definition;
    const own = { modules: [name], isIdentity };
    const everyMs = intervalMs ?? Math.max(routerIntervalMs, minIntervalMs);
    // A reader runs once per poll; a second module that uses it can only make it run more often.
    if (reader && readers.includes(reader)) {
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
      patterns.set(path, { name: path, paths, isOptional: isSure });
    }
  }
  const isConditional = [...merged.values()].some((target) => target.isConditional);
  if (isConditional && !merged.has(DEVICE_INFO)) {
    // Read after each login: another firmware needs a restart.
    merged.set(DEVICE_INFO, {
      ...createTarget(DEVICE_INFO, Math.max(routerIntervalMs, DEVICE_INTERVAL_MS)),
      isIdentity: true,
    });
  }
  if (merged.size === 0) merged.set(DEVICE_INFO, createTarget(DEVICE_INFO, routerIntervalMs));
  const ordered = [...merged.values()].toSorted((a, b) => toRank(a) - toRank(b));
  const tickMs = Math.min(...ordered.map(({ intervalMs }) => intervalMs));
  const targets = ordered.map((target, index): PollTarget => {
    return { ...target, index, isSlow: target.intervalMs > Math.max(routerIntervalMs, tickMs) };
  });
  const byPath = new Map(targets.map((target) => [target.path, target]));
  return { targets, patterns: [...patterns.values()], byPath, tickMs };
}

type TargetDraft = Omit<PollTarget, 'index' | 'isSlow'>;

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
  if (isIdentity || path === DEVICE_INFO) return 0;
  if (reader) return 3;
  return feeds.length > 0 ? 1 : 2;
}

/** Interval of `device_info` if only conditions need it. Milliseconds. */
const DEVICE_INTERVAL_MS = 3_600_000;

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
