import { forEachYielding } from '../base/index.ts';
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
  type RootExpected,
  renderFault,
  YamlThread,
} from '../settings/index.ts';
import type { FilledLayer } from './layers.ts';
import { type LayerOrigin, readOrigin } from './origins.ts';
import type { ResolvedRouter, RouterResolver } from './resolve-routers.ts';
import { type RemoteRouter, remoteListSchema, remoteRouterSchema } from './router-schema.ts';

const REFUSALS_SHOWN_MAX = 10;
const NAME_SHOWN_MAX = 128;

const LINES_AROUND = 2;

const LIST_ROOT: RootExpected = {
  kind: 'list',
  expected: 'a list of routers',
  ifEmpty: 'it must be "[]" where there is no router',
  schema: remoteListSchema,
};

interface RemoteContext {
  readonly main: ConfigFile;
  readonly resolver: RouterResolver;
  readonly keeper: SourceKeeper;
  readonly files: AnswerFiles;
  readonly whileAgentRuns: boolean;
}

interface RemoteResolved extends ResolvedRouter {
  readonly isPausedOrRetired: boolean;
}

interface Resolved {
  readonly routers: readonly RemoteResolved[];
  readonly names: ReadonlySet<string>;
  /** Polled routers. A paused or retired one counts as removed. */
  readonly asked: ReadonlySet<string>;
  readonly refused: number;
  readonly refusals: readonly string[];
}

const NONE: Resolved = { routers: [], names: new Set(), asked: new Set(), refused: 0, refusals: [] };

/**
 * An answer never makes the configuration invalid: a faulty router is left out, and an unusable answer, or one that
 * lacks too many routers, keeps the previous one in use. `local`: names of configured routers.
 */
export async function resolveSources(
  sources: readonly SourceSettings[],
  local: ReadonlySet<string>,
  context: RemoteContext,
): Promise<{ readonly routers: readonly ResolvedRouter[]; readonly outcomes: readonly SourceOutcome[] }> {
  const taken = new Set(local);
  const routers: ResolvedRouter[] = [];
  const outcomes: SourceOutcome[] = [];
  const configured = new Set(sources.map(({ name }) => name));
  context.keeper.keepIn(context.files);
  for (const source of sources) {
    const { chosen, outcome } = await resolveSource(source, taken, configured, context);
    await forEachYielding(chosen, (one) => {
      taken.add(one.settings.name);
      routers.push(one);
    });
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

/** After a start, the routers in use are not known yet. */
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

/** Returns the reason if the answer is unusable. `listed`: positions, if they are of the same answer. */
async function resolveAnswer(
  source: SourceSettings,
  text: string,
  taken: ReadonlySet<string>,
  { main, resolver, whileAgentRuns }: RemoteContext,
  listed?: ListedRouters,
): Promise<Resolved | string> {
  const name = `source ${source.name}`;
  // A list stored while `routers_max` was higher could exhaust the memory at each start. Each router has its line.
  if (countLines(text) > source.routers_max + LINES_AROUND) return `${name}: ${describeTooMany(source.routers_max)}`;
  await using files = new ConfigFiles(
    undefined,
    whileAgentRuns ? new YamlThread(toHeapMb(source.routers_max)) : undefined,
  );
  const file = await files.parse(name, `${main.folder}/answer`, { text }, LIST_ROOT);
  if (!file) return files.faults.map(renderFault).join('; ');
  const items = Array.isArray(file.source.value) ? (file.source.value as readonly unknown[]) : [];
  const known = listFaulty(file);
  const places = listed?.text === text ? listed.places : [];
  const routers: RemoteResolved[] = [];
  const refusals: string[] = [];
  const names = new Set<string>();
  const asked = new Set<string>();
  const groups = listGroupOrigins(main, source);
  let refused = 0;
  await forEachYielding(items.entries(), ([index, item]) => {
    const own = { ...file, faults: new FaultList(file.name, file.source, []) };
    const one = known.get(index) ?? checkRemote(source, own, index, item, { taken, names, groups, main, resolver });
    if (typeof one === 'string') {
      refused++;
      if (refusals.length < REFUSALS_SHOWN_MAX) refusals.push(`${name}: ${describe(item, places[index])}: ${one}`);
    } else {
      names.add(one.settings.name);
      if (!one.isPausedOrRetired) asked.add(one.settings.name);
      routers.push(one);
    }
  });
  return { routers, names, asked, refused, refusals };
}

/** Shows only the name: other keys may hold secrets. */
function describe(item: unknown, place = 'a router of the stored list'): string {
  const name: unknown = Object(item).name;
  return typeof name === 'string' ? `${place}, ${JSON.stringify(name.slice(0, NAME_SHOWN_MAX))}` : place;
}

/** Omits the index: the operator did not write the stored list. */
function renderReason(fault: ConfigFault, file: ConfigFile): string {
  if (fault.file !== file.name) return renderFault(fault);
  return describeFault({ ...fault, keyPath: fault.keyPath.replace(/^\[\d+\]\.?/, '') });
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

function listFaulty(file: ConfigFile): ReadonlyMap<number, string> {
  const faulty = new Map<number, string>();
  for (const fault of file.faults.toSorted()) {
    const index = Number(/^\[(\d+)\]/.exec(fault.keyPath)?.[1]);
    if (!faulty.has(index)) faulty.set(index, renderReason(fault, file));
  }
  return faulty;
}

function checkRemote(
  source: SourceSettings,
  file: ConfigFile,
  index: number,
  item: unknown,
  surroundings: Surroundings,
): RemoteResolved | string {
  // `${…}` is not replaced: a source must not read the environment.
  const router = checkItem(file, remoteRouterSchema, item, [index]);
  const [fault] = file.faults.toSorted();
  if (fault) return renderReason(fault, file);
  return resolveRemote(source, file, index, router ?? {}, surroundings);
}

interface Surroundings extends Pick<RemoteContext, 'main' | 'resolver'> {
  readonly taken: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly groups: readonly LayerOrigin[];
}

function resolveRemote(
  source: SourceSettings,
  file: ConfigFile,
  index: number,
  router: RemoteRouter,
  { taken, names, groups: groupOrigins, main, resolver }: Surroundings,
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
  const place = { file, path: [index] };
  const layer = { ...place, layer: router as FilledLayer, origin: readOrigin(place) };
  const groups = [...source.groups.filter((one) => !(router.groups ?? []).includes(one)), ...(router.groups ?? [])];
  // Groups may conflict; that fault must not make the configuration invalid.
  const { result, faults } = main.faults.attempt(() => resolver.resolve({ ...router, groups }, layer));
  const [fault] = [...file.faults.toSorted(), ...faults];
  if (fault) return renderReason(fault, file);
  if (!result) return 'it is incomplete';
  return {
    ...result,
    origins: [...result.origins, ...groupOrigins],
    isPausedOrRetired: wantsPausedOrRetired(main, router),
  };
}

const PAUSED_OR_RETIRED: ReadonlySet<unknown> = new Set(['paused', 'retired']);

function wantsPausedOrRetired(main: ConfigFile, { state, groups = [] }: RemoteRouter): boolean {
  if (state !== undefined) return PAUSED_OR_RETIRED.has(state);
  return groups.some((group) => PAUSED_OR_RETIRED.has(main.source.valueAt(['groups', group, 'state'])));
}

function listGroupOrigins(main: ConfigFile, source: SourceSettings): readonly LayerOrigin[] {
  if (source.groups.length === 0) return [];
  const written = main.source.valueAt(['router_sources']);
  const index = (Array.isArray(written) ? written : []).findIndex((one: unknown) => Object(one).name === source.name);
  return [readOrigin({ file: main, path: ['router_sources', index, 'groups'] }, 'groups')];
}

function listOf(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
