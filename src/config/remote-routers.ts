import { Steps } from '../base/index.ts';
import {
  type AnswerFiles,
  describeTooMany,
  findAddressFault,
  findMissing,
  type ListedRouters,
  type SourceKeeper,
  type SourceOutcome,
  type SourceSettings,
  toHeapMb,
} from '../inventory/index.ts';
import {
  type ConfigFault,
  type ConfigFile,
  ConfigFiles,
  checkItem,
  describeFault,
  FaultList,
  findNearest,
  type Place,
  type RootExpected,
  renderFault,
  YamlThread,
} from '../settings/index.ts';
import type { RouterSettings } from './config.ts';
import type { FilledLayer } from './layers.ts';
import { type RemoteRouter, remoteListSchema, remoteRouterSchema } from './router-schema.ts';
import type { ResolvedRouter, RouterResolver } from './router-settings.ts';

/** Refusals with a line in the log. */
const REFUSALS_SHOWN_MAX = 10;
/** Characters of the name of a router: as many as it may have. */
const NAME_SHOWN_MAX = 128;

/** The brackets. */
const LINES_AROUND = 2;

const LIST_ROOT: RootExpected = {
  kind: 'list',
  expected: 'a list of routers',
  ifEmpty: 'it must be "[]" where there is no router',
  schema: remoteListSchema,
};

/** Context for checking the routers of sources. */
export interface RemoteContext {
  readonly main: ConfigFile;
  readonly resolver: RouterResolver;
  /** The answers of the sources. */
  readonly keeper: SourceKeeper;
  readonly files: AnswerFiles;
  /** Called for each router that is used. */
  readonly onResolved: (resolved: ResolvedRouter) => void;
  /** True if an agent does its work meanwhile. */
  readonly isBeside: boolean;
}

/** A router of an answer, and whether the source wants it to be asked. */
interface RemoteResolved extends ResolvedRouter {
  readonly isRested: boolean;
}

/** Routers of one answer. */
interface Resolved {
  readonly routers: readonly RemoteResolved[];
  readonly names: ReadonlySet<string>;
  /** Names of the routers that are asked: one that is paused or retired is as good as gone. */
  readonly asked: ReadonlySet<string>;
  readonly refused: number;
  readonly refusals: readonly string[];
}

const NONE: Resolved = { routers: [], names: new Set(), asked: new Set(), refused: 0, refusals: [] };

/**
 * Resolves the routers of all sources. Whatever a source answers, the faults are not those of the configuration: a router with a
 * fault is left out, and an answer that cannot be used, or lacks too many routers, leaves the one before it in use. `local` are
 * the names that the configuration itself has taken.
 */
export async function resolveSources(
  sources: readonly SourceSettings[],
  local: ReadonlySet<string>,
  context: RemoteContext,
): Promise<{ readonly routers: readonly RouterSettings[]; readonly outcomes: readonly SourceOutcome[] }> {
  const taken = new Set(local);
  const routers: RouterSettings[] = [];
  const outcomes: SourceOutcome[] = [];
  const configured = new Set(sources.map(({ name }) => name));
  const steps = new Steps();
  context.keeper.keepIn(context.files);
  for (const source of sources) {
    const { chosen, outcome } = await resolveSource(source, taken, configured, context);
    for (const one of chosen) {
      taken.add(one.settings.name);
      routers.push(one.settings);
      context.onResolved(one);
      if (steps.isDue) await steps.next();
    }
    outcomes.push(outcome);
  }
  return { routers, outcomes };
}

async function resolveSource(
  source: SourceSettings,
  taken: ReadonlySet<string>,
  configured: ReadonlySet<string>,
  context: RemoteContext,
): Promise<{ readonly chosen: readonly ResolvedRouter[]; readonly outcome: SourceOutcome }> {
  const state = await context.keeper.open(source, context.files, configured);
  const { candidate, listed, accepted, routers: before, isConfirmed, unreadable } = state;
  const common = { seen: candidate, unreadable };
  let held: SourceOutcome['held'];
  let faulty: string | undefined;
  if (candidate !== undefined) {
    const found = await resolveAnswer(source, candidate, taken, context, listed);
    if (typeof found === 'string') faulty = found;
    else {
      const known =
        before.size === 0 && accepted !== undefined ? await listAccepted(source, accepted, taken, context) : before;
      const largest = context.keeper.findLargest(source.name);
      const missing = isConfirmed ? undefined : findMissing(known, found.asked, source.removal_max, largest);
      if (!missing) {
        const isShrinkAllowed = isConfirmed || source.removal_max >= 1;
        return {
          chosen: found.routers,
          outcome: { ...toOutcome(source, candidate, found), ...common, isShrinkAllowed },
        };
      }
      held = { ...missing, text: candidate };
    }
  }
  const found = accepted === undefined ? undefined : await resolveAnswer(source, accepted, taken, context, listed);
  if (typeof found === 'string') faulty ??= found;
  const used = found === undefined || typeof found === 'string' ? NONE : found;
  return { chosen: used.routers, outcome: { ...toOutcome(source, accepted, used), ...common, held, faulty } };
}

/** Lists the routers that are in use, which a process that has just started does not know yet. */
async function listAccepted(
  source: SourceSettings,
  accepted: string,
  taken: ReadonlySet<string>,
  context: RemoteContext,
) {
  const found = await resolveAnswer(source, accepted, taken, context);
  return typeof found === 'string' ? NONE.asked : found.asked;
}

function toOutcome(
  source: SourceSettings,
  text: string | undefined,
  { names, asked, refused, refusals }: Resolved,
): SourceOutcome {
  return {
    source: source.name,
    text,
    routers: names,
    asked,
    refused,
    refusals,
    held: undefined,
    faulty: undefined,
  };
}

/** Returns the routers of an answer, or why it is none. `listed` says where they are written, if it is the same answer. */
async function resolveAnswer(
  source: SourceSettings,
  text: string,
  taken: ReadonlySet<string>,
  { main, resolver, isBeside }: RemoteContext,
  listed?: ListedRouters,
): Promise<Resolved | string> {
  const name = `source ${source.name}`;
  // A list that was stored before the bound was lower, and would end the agent at each start. Each router has its line.
  if (countLines(text) > source.routers_max + LINES_AROUND) return `${name}: ${describeTooMany(source.routers_max)}`;
  await using files = new ConfigFiles(undefined, isBeside ? new YamlThread(toHeapMb(source.routers_max)) : undefined);
  const file = await files.parse(name, `${main.folder}/answer`, { text }, LIST_ROOT);
  if (!file) return files.faults.map(renderFault).join('; ');
  const items = Array.isArray(file.source.value) ? (file.source.value as readonly unknown[]) : [];
  const known = listFaulty(file);
  const places = listed?.text === text ? listed.places : [];
  const routers: RemoteResolved[] = [];
  const refusals: string[] = [];
  const names = new Set<string>();
  const asked = new Set<string>();
  let refused = 0;
  const steps = new Steps();
  for (const [index, item] of items.entries()) {
    // A list of faults of its own, so that those of others never end its check.
    const own = { ...file, faults: new FaultList(file.name, file.source, []) };
    const one = known.get(index) ?? checkRemote(source, own, index, item, { taken, names, main, resolver });
    if (typeof one === 'string') {
      refused++;
      if (refusals.length < REFUSALS_SHOWN_MAX) refusals.push(`${name}: ${describe(item, places[index])}: ${one}`);
    } else {
      names.add(one.settings.name);
      if (!one.isRested) asked.add(one.settings.name);
      routers.push(one);
    }
    if (steps.isDue) await steps.next();
  }
  return { routers, names, asked, refused, refusals };
}

/** Names a router as it is written in its source. What it has besides a name may be a secret. */
function describe(item: unknown, place = 'a router of the stored list'): string {
  const name: unknown = Object(item).name;
  return typeof name === 'string' ? `${place}, ${JSON.stringify(name.slice(0, NAME_SHOWN_MAX))}` : place;
}

/** Renders a fault without its place in the list, which nobody has written. */
function renderReason(fault: ConfigFault, file: ConfigFile): string {
  if (fault.file !== file.name) return renderFault(fault);
  return describeFault({ ...fault, keyPath: fault.keyPath.replace(/^\[\d+\]\.?/, '') });
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Lists the first fault of each router that has one after parsing, by its place in the list. */
function listFaulty(file: ConfigFile): ReadonlyMap<number, string> {
  const faulty = new Map<number, string>();
  for (const fault of file.faults.toSorted()) {
    const index = Number(/^\[(\d+)\]/.exec(fault.keyPath)?.[1]);
    if (!faulty.has(index)) faulty.set(index, renderReason(fault, file));
  }
  return faulty;
}

/** Checks one router, and resolves it or says why it is refused. */
function checkRemote(
  source: SourceSettings,
  file: ConfigFile,
  index: number,
  item: unknown,
  surroundings: Surroundings,
): RemoteResolved | string {
  // No environment: what stands in `${…}` is not for a source to know.
  const router = checkItem(file, remoteRouterSchema, item, [index]);
  const [fault] = file.faults.toSorted();
  if (fault) return renderReason(fault, file);
  return resolveRemote(source, file, index, router ?? {}, surroundings);
}

interface Surroundings extends Pick<RemoteContext, 'main' | 'resolver'> {
  readonly taken: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
}

/** Resolves one router, or says why it is refused. */
function resolveRemote(
  source: SourceSettings,
  file: ConfigFile,
  index: number,
  router: RemoteRouter,
  { taken, names, main, resolver }: Surroundings,
): RemoteResolved | string {
  const { name = '', url = '' } = router;
  if (taken.has(name)) return 'the name is that of a router of the configuration, or of another source';
  if (names.has(name)) return 'the name is in the list already';
  const address = findAddressFault(url, source);
  if (address !== undefined) return `the URL is not allowed: ${address}`;
  for (const [wanted, allowed, key] of [
    [router.groups ?? [], source.allowed_groups, 'allowed_groups'],
    [listOf(router.credentials), source.allowed_credentials, 'allowed_credentials'],
    [listOf(router.tls_set), source.allowed_tls_sets, 'allowed_tls_sets'],
  ] as const) {
    const other = wanted.find((one) => !allowed.includes(one));
    if (other === undefined) continue;
    const nearest = findNearest(other, allowed);
    return `"${other}" is not in "${key}" of the source${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`;
  }
  if (router.state_until !== undefined && router.state === undefined) return '"state_until" needs "state"';
  const layer = { file, path: [index], layer: router as FilledLayer };
  const groups = [...source.groups.filter((one) => !(router.groups ?? []).includes(one)), ...(router.groups ?? [])];
  // Its combination of groups may contradict itself, which is a fault at a group; but not one of the configuration.
  const { result, faults } = main.faults.attempt(() => resolver.resolve({ ...router, groups }, layer));
  const [fault] = [...file.faults.toSorted(), ...faults];
  if (fault) return renderReason(fault, file);
  if (!result) return 'it is incomplete';
  return { ...result, groupsAt: findGroups(main, source), isRested: wantsRest(main, router) };
}

/** States in which a router is not asked. */
const RESTS: ReadonlySet<unknown> = new Set(['paused', 'retired']);

/** Returns true if a source wants a router not to be asked: by its state, or by a group with such a state. */
function wantsRest(main: ConfigFile, { state, groups = [] }: RemoteRouter): boolean {
  if (state !== undefined) return RESTS.has(state);
  return groups.some((group) => RESTS.has(main.source.valueAt(['groups', group, 'state'])));
}

/** Finds the groups of all routers of a source. */
function findGroups(main: ConfigFile, source: SourceSettings): Place | undefined {
  if (source.groups.length === 0) return undefined;
  const written = main.source.valueAt(['router_sources']);
  const index = (Array.isArray(written) ? written : []).findIndex((one: unknown) => Object(one).name === source.name);
  return { file: main, path: ['router_sources', index, 'groups'] };
}

function listOf(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
