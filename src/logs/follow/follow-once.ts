import { COMPONENTS_MAX, type ListedLog, type Listing, parseListing } from '../listing/listing.ts';
import { type LogPosition, parsePosition } from '../position/position.ts';
import { isBusy } from '../reading/errors.ts';
import type { FollowOptions } from './contracts.ts';
import { type RouterRun, StepStore } from './followed-log.ts';
import { LogFollower } from './log-follower.ts';
import { FollowMemory } from './memory.ts';
import {
  createRouterFacts,
  DeviceCheck,
  OtherDevice,
  parseRouterFacts,
  RouterEvidence,
  updateSerial,
} from './router-facts.ts';

/** Logs with less time to loss than this are read first. Milliseconds. */
const DANGER_MS = 10 * 60_000;
/** Earlier than any line. Used as first contact if stored facts cannot be read. */
const EARLIEST_MS = Date.UTC(1900, 0, 1);
const NOT_LISTED: ListedLog = { current: undefined, rotated: [] };

/**
 * Reads the new lines of all logs of one router and makes them durable.
 *
 * A failure of one file is reported and does not affect other files. Rejects if the router cannot be reached, or with
 * disposition `hold-back` if the store is full. A log with much to read yields to the other logs. Resolves to true if
 * logs were left for the next run, which begins with them. Without a configured zone, the zone is learnt first.
 */
export async function followOnce(options: FollowOptions, signal: AbortSignal): Promise<boolean> {
  try {
    return await followDevice(options, signal);
  } catch (cause) {
    if (!(cause instanceof OtherDevice)) throw cause;
    const { serial } = cause;
    return await followDevice({ ...options, serial, readSerial: undefined }, signal);
  }
}

/** Does the work of {@link followOnce}. Throws {@link OtherDevice} if the serial number differs from `serial`. */
async function followDevice(options: FollowOptions, signal: AbortSignal): Promise<boolean> {
  const { source, records, router, isWanted, report, memory = new FollowMemory() } = options;
  const list = async (): Promise<Listing> => parseListing(await source.listLogs(signal));
  const stored = records.readPositions(router.name);
  const positions = new Map([...stored].map(([component, text]) => [component, parsePosition(text)]));
  const begun = beginRun(options, memory);
  const { evidence, store, isReplaced } = begun;
  // Listing comes first: a router that refuses its logs needs no request for its time.
  const listing = await list();
  if (!(await evidence.askForTime(signal))) return true;
  if (evidence.zone.isAssumed && ((begun.contactMs === undefined && positions.size === 0) || isReplaced))
    await evidence.findZone(listing, signal);
  await confirmLacking(begun, listing, positions, isWanted, signal);
  const run = { ...begun, isWiped: findWiped(listing, positions) };
  const excess = findExcess(listing, positions, memory.knownLogs);
  if (excess.length > 0) {
    await records.forgetLogs?.(router.name, excess);
    for (const component of excess) {
      positions.delete(component);
      memory.forget(component);
    }
    report({ type: 'logs-forgotten', components: excess });
  }
  const queue = new LogQueue(run, list, listing, positions);
  try {
    await queue.begin(positions);
    return await queue.run(signal);
  } finally {
    await store.settle();
    if (!signal.aborted && !store.hasLostCommit) await store.commit();
  }
}

function beginRun(options: FollowOptions, memory: FollowMemory): Omit<RouterRun, 'isWiped'> {
  const { router, records, clock, serial, firmware } = options;
  const stored = records.readFacts(router.name);
  // Stored facts that cannot be read belong to a known router; the time of first contact is lost.
  const isMet = stored !== undefined;
  const facts = (isMet && parseRouterFacts(stored)) || createRouterFacts(isMet ? EARLIEST_MS : clock.now());
  const contactMs = isMet ? facts.firstContactMs : undefined;
  const isReplaced = updateSerial(facts, serial);
  if (isReplaced) memory.isZoneUnconfirmed = false;
  if (firmware !== undefined && firmware !== facts.firmware) {
    // Another firmware may write logs in another way.
    if (facts.firmware !== undefined) facts.links = {};
    facts.firmware = firmware;
    facts.range = undefined;
  }
  const evidence = new RouterEvidence(options, memory, facts);
  const store = new StepStore(options, facts, stored);
  const device = new DeviceCheck(options, memory, facts);
  return { options, memory, facts, evidence, store, device, contactMs, isReplaced };
}

class LogQueue {
  readonly #run: RouterRun;
  readonly #list: () => Promise<Listing>;
  #listing: Listing;
  readonly #waiting: LogFollower[];
  readonly #settled: LogFollower[] = [];

  /** `listing`: the first result of `list`. `positions`: the stored positions. */
  constructor(
    run: RouterRun,
    list: () => Promise<Listing>,
    listing: Listing,
    positions: ReadonlyMap<string, LogPosition | undefined>,
  ) {
    const { memory } = run;
    const { clock, isWanted } = run.options;
    this.#run = run;
    this.#list = list;
    this.#listing = listing;
    const known = [...new Set([...listing.logs.keys(), ...positions.keys()])];
    for (const component of known) memory.knownLogs.add(component);
    this.#report();
    const wanted = known.filter((component) => isWanted(component));
    this.#waiting = sortByUrgency(wanted, memory, clock.monotonic()).map(
      (component) => new LogFollower(run, component, positions.get(component), () => this.#relist(component)),
    );
  }

  async begin(positions: ReadonlyMap<string, unknown>): Promise<void> {
    const { isReplaced, store } = this.#run;
    if (isReplaced) {
      const before = this.#waiting.filter(({ component }) => positions.has(component));
      // One commit ends all logs of the previous device and stores the new serial number. Nothing is committed before
      // it.
      await store.commit(...before.map((follower) => follower.replace()));
    }
    const pins = this.#waiting.flatMap((follower) => follower.pin(this.#listedOf(follower.component)));
    if (pins.length > 0) await store.commit(...pins);
    await this.#recordListing();
  }

  async run(signal: AbortSignal): Promise<boolean> {
    const { shouldYield } = this.#run.options;
    const { served, broken } = this.#run.memory;
    let isFirst = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (!isFirst && shouldYield?.()) return true;
      isFirst = false;
      const { component } = next;
      served.add(component);
      broken.add(component);
      const outcome = await runUnlessBusy(next, this.#listedOf(component), signal);
      broken.delete(component);
      if (outcome !== 'busy') (outcome === 'more' ? this.#waiting : this.#settled).push(next);
    }
    served.clear();
    return false;
  }

  async #relist(component: string): Promise<ListedLog> {
    this.#listing = await this.#list();
    this.#report();
    await this.#recordListing();
    return this.#listedOf(component);
  }

  #listedOf(component: string): ListedLog {
    return this.#listing.logs.get(component) ?? NOT_LISTED;
  }

  async #recordListing(): Promise<void> {
    for (const follower of this.#waiting) await follower.recordListed(this.#listedOf(follower.component), false);
    for (const follower of this.#settled) await follower.recordListed(this.#listedOf(follower.component), true);
  }

  /** Reports the listing. Logs that appeared during the run are left out: their number is bounded by the next run. */
  #report(): void {
    const { logs, unknown } = this.#listing;
    const { memory, options } = this.#run;
    const reported = [...logs].filter(([component]) => memory.knownLogs.has(component));
    const archives = new Map(reported.map(([component, { rotated }]) => [component, rotated.length]));
    options.report({ type: 'logs-listed', archives, unknown });
  }
}

/** Reads a log. Returns `busy` if the router refuses its files for now; other logs are still read. */
async function runUnlessBusy(follower: LogFollower, listed: ListedLog, signal: AbortSignal): Promise<string> {
  try {
    return await follower.run(listed, signal);
  } catch (cause) {
    if (signal.aborted || !isBusy(cause)) throw cause;
    return 'busy';
  }
}

/**
 * Logs not read since a complete run come first, so that short runs reach every log; then by time to loss and name. A
 * log whose last run failed comes last in its group, because it could block all others.
 */
function sortByUrgency(components: readonly string[], memory: FollowMemory, nowMs: number): string[] {
  const { broken, served } = memory;
  if (components.every((component) => served.has(component))) served.clear();
  const dangerOf = (component: string) => {
    const msToLoss = memory.of(component).retention.msToLoss(nowMs) ?? DANGER_MS;
    return broken.has(component) ? DANGER_MS : Math.min(msToLoss, DANGER_MS);
  };
  const rankOf = (component: string) => 2 * Number(served.has(component)) + Number(broken.has(component));
  return components.toSorted().toSorted((a, b) => rankOf(a) - rankOf(b) || dangerOf(a) - dangerOf(b));
}

/**
 * Selects logs to forget, so that a router that keeps listing new names fills neither store nor metrics: logs no longer
 * listed, those without unread lines first. A log that is listed again is read from its start.
 */
function findExcess(
  listing: Listing,
  positions: ReadonlyMap<string, LogPosition | undefined>,
  reported: ReadonlySet<string>,
): string[] {
  // First the logs without a position: nothing was read of them.
  const known = [...[...reported].filter((component) => !positions.has(component)), ...positions.keys()];
  const unlisted = known
    .filter((component) => !listing.logs.has(component))
    .map((component) => [component, positions.get(component)] as const);
  const excess = listing.logs.size + unlisted.length - COMPONENTS_MAX;
  if (excess <= 0) return [];
  const isUnread = (position: LogPosition | undefined): boolean =>
    position !== undefined && (position.open !== undefined || Object.keys(position.waiting).length > 0);
  const sorted = unlisted.toSorted(([, a], [, b]) => Number(isUnread(a)) - Number(isUnread(b)));
  return sorted.slice(0, excess).map(([component]) => component);
}

/**
 * Checks the serial number if none of a log's known rotated files is listed: they were deleted, or this is another
 * device. Done once for the same files.
 */
async function confirmLacking(
  { memory, device, isReplaced }: Omit<RouterRun, 'isWiped'>,
  listing: Listing,
  positions: ReadonlyMap<string, LogPosition | undefined>,
  isWanted: FollowOptions['isWanted'],
  signal: AbortSignal,
): Promise<void> {
  const lacking = [...positions].flatMap(([component, position]) => {
    if (!position || !isWanted(component)) return [];
    const known = [...Object.keys(position.completed), ...Object.keys(position.waiting)];
    const listed = listing.logs.get(component)?.rotated.map(({ stamp }) => stamp) ?? [];
    if (known.length === 0 || known.some((stamp) => listed.includes(stamp))) return [];
    return `${component} ${known.toSorted().join(' ')}`;
  });
  if (!isReplaced && lacking.some((one) => !memory.lacking.has(one))) await device.confirm(signal);
  memory.lacking = new Set(lacking);
}

/** Returns true if a log has lost all its rotated files: routers delete the logs of all components together. */
function findWiped(listing: Listing, positions: ReadonlyMap<string, LogPosition | undefined>): boolean {
  return [...positions].some(([component, position]) => {
    if (!position || (listing.logs.get(component)?.rotated.length ?? 0) > 0) return false;
    return position.isWiped || Object.keys(position.completed).length + Object.keys(position.waiting).length > 0;
  });
}
