import { COMPONENTS_MAX, type ListedLog, type Listing, parseListing } from '../listing/listing.ts';
import type { LogPosition } from '../position/position.ts';
import { parsePosition } from '../position/position-text.ts';
import { isBusy } from '../reading/errors.ts';
import type { FollowOptions } from './contracts.ts';
import type { RouterRun } from './followed-log.ts';
import { LogFollower } from './log-follower.ts';
import { FollowMemory } from './memory.ts';
import { RouterEvidence } from './router-evidence.ts';
import {
  createRouterFacts,
  DeviceCheck,
  noteSerial,
  OtherDevice,
  parseRouterFacts,
  StepStore,
} from './router-facts.ts';

/** A log from which the router will soon delete what is unread is read before the others. Milliseconds. */
const DANGER_MS = 10 * 60_000;
/** Before any line: no line is older than a first contact at that time. */
const EARLIEST_MS = Date.UTC(1900, 0, 1);
const NOT_LISTED: ListedLog = { current: undefined, rotated: [] };

/**
 * Reads what is new in the logs of one router, log by log, and makes it durable. A fault of one file is reported and
 * harms no other; rejects when the router cannot be reached, or with disposition `hold-back` when the store is full.
 * A log with much to read gives way to the others in between. Resolves to true when some were left for the next run, which
 * begins with them. Where no zone is configured it is learnt first, wherever the router shows it.
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

/** {@link followOnce}; throws {@link OtherDevice} when the device is found to be another one than `serial` says. */
async function followDevice(options: FollowOptions, signal: AbortSignal): Promise<boolean> {
  const { source, records, router, isWanted, report, memory = new FollowMemory() } = options;
  const list = async (): Promise<Listing> => parseListing(await source.listLogs(signal));
  const positions = parsePositions(records.readPositions(router.name));
  const begun = beginRun(options, memory);
  const { evidence, store, isReplaced } = begun;
  // A router that does not give its logs is not asked for its time for them, either.
  const listing = await list();
  if (!(await evidence.askForTime(signal))) return true;
  if (evidence.zone.isAssumed && ((begun.contactMs === undefined && positions.size === 0) || isReplaced))
    await evidence.findZone(listing, signal);
  await confirmLacking(begun, listing, positions, isWanted, signal);
  const run = { ...begun, isWiped: findWiped(listing, positions) };
  const excess = findExcess(listing, positions, memory.told);
  if (excess.length > 0) {
    await records.forgetLogs?.(router.name, excess);
    for (const component of excess) {
      positions.delete(component);
      memory.forget(component);
    }
    report({ type: 'logs-forgotten', components: excess });
  }
  const turns = new LogTurns(run, { list, listing, positions });
  try {
    await turns.begin();
    return await turns.run(signal);
  } finally {
    await store.settle();
    if (!signal.aborted && !store.hasLostCommit) await store.commit();
  }
}

/** Takes up what is stored of a router. */
function beginRun(options: FollowOptions, memory: FollowMemory): Omit<RouterRun, 'isWiped'> {
  const { router, records, clock, serial, firmware } = options;
  const stored = records.readFacts(router.name);
  // Facts that cannot be read are those of a router that was met before, nobody knows when.
  const isMet = stored !== undefined;
  const facts = (isMet && parseRouterFacts(stored)) || createRouterFacts(isMet ? EARLIEST_MS : clock.now());
  const contactMs = isMet ? facts.firstContactMs : undefined;
  const isReplaced = noteSerial(facts, serial);
  if (isReplaced) memory.isZoneDoubted = false;
  if (firmware !== undefined && firmware !== facts.firmware) {
    // Another firmware may have another writer of logs.
    if (facts.firmware !== undefined) facts.links = {};
    facts.firmware = firmware;
    facts.range = undefined;
  }
  const evidence = new RouterEvidence(options, memory, facts);
  const store = new StepStore(options, facts, stored);
  const device = new DeviceCheck(options, memory, facts);
  return { options, memory, facts, evidence, store, device, contactMs, isReplaced };
}

/** The logs of one run, and how they are listed. */
interface LogTurnsOptions {
  /** Asks the router for its files. */
  readonly list: () => Promise<Listing>;
  /** Its first answer. */
  readonly listing: Listing;
  /** Where the logs stood. */
  readonly positions: ReadonlyMap<string, LogPosition | undefined>;
}

/** The turns of a router's logs in one run. */
class LogTurns {
  readonly #run: RouterRun;
  readonly #options: LogTurnsOptions;
  /** As the router listed its files last. */
  #listing: Listing;
  /** Logs that have a turn to come, in this order. */
  readonly #waiting: LogFollower[];
  readonly #settled: LogFollower[] = [];

  constructor(run: RouterRun, options: LogTurnsOptions) {
    const { listing, positions } = options;
    const { memory } = run;
    const { clock, isWanted } = run.options;
    this.#run = run;
    this.#options = options;
    this.#listing = listing;
    const known = [...new Set([...listing.logs.keys(), ...positions.keys()])];
    for (const component of known) memory.told.add(component);
    this.#tell();
    const wanted = known.filter((component) => isWanted(component));
    this.#waiting = sortByUrgency(wanted, memory, clock.monotonic()).map(
      (component) => new LogFollower(run, component, positions.get(component), () => this.#relist(component)),
    );
  }

  /** Makes durable what has to be before anything is read, and notes what is listed. */
  async begin(): Promise<void> {
    const { isReplaced, store } = this.#run;
    if (isReplaced) {
      const before = this.#waiting.filter(({ component }) => this.#options.positions.has(component));
      // All logs of the device before end, in one step with the serial number that says so: nothing is made durable before that.
      await store.commit(...before.map((follower) => follower.replace()));
    }
    const pins = this.#waiting.flatMap((follower) => follower.pin(this.#listedOf(follower.component)));
    if (pins.length > 0) await store.commit(...pins);
    await this.#noteListing();
  }

  /** Reads log by log. Resolves to true if some were left because of `shouldYield`. */
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
    this.#listing = await this.#options.list();
    this.#tell();
    await this.#noteListing();
    return this.#listedOf(component);
  }

  #listedOf(component: string): ListedLog {
    return this.#listing.logs.get(component) ?? NOT_LISTED;
  }

  async #noteListing(): Promise<void> {
    for (const follower of this.#waiting) await follower.noteListed(this.#listedOf(follower.component), false);
    for (const follower of this.#settled) await follower.noteListed(this.#listedOf(follower.component), true);
  }

  /** Tells what is listed; of the logs that the run began with alone, because the next run bounds how many there are. */
  #tell(): void {
    const { logs, unknown } = this.#listing;
    const { memory, options } = this.#run;
    const told = [...logs].filter(([component]) => memory.told.has(component));
    const archives = new Map(told.map(([component, { rotated }]) => [component, rotated.length]));
    options.report({ type: 'logs-listed', archives, unknown });
  }
}

/** Reads a log; `busy` when the router gives none of its files now, which is no reason to read no other log. */
async function runUnlessBusy(follower: LogFollower, listed: ListedLog, signal: AbortSignal): Promise<string> {
  try {
    return await follower.run(listed, signal);
  } catch (cause) {
    if (signal.aborted || !isBusy(cause)) throw cause;
    return 'busy';
  }
}

/**
 * Those that had no turn since a run last came to its end before the others, so that runs that all end before their time pass over
 * none for ever; among them those in danger first, the most urgent before the others; the rest in the order of their names. One that
 * ended a run with an error comes last, however near its loss: it would keep all others from being read.
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
 * Finds the logs to forget, so that a router that lists new names again and again fills neither store nor metrics: those
 * that it lists no longer, first the ones of which nothing is to be read. A log that comes back is read from its start.
 */
function findExcess(
  listing: Listing,
  positions: ReadonlyMap<string, LogPosition | undefined>,
  told: ReadonlySet<string>,
): string[] {
  // Those that were only told of come first: nothing was ever read of them.
  const known = [...[...told].filter((component) => !positions.has(component)), ...positions.keys()];
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

/** The positions of the logs; `undefined` for one that cannot be read. */
function parsePositions(stored: ReadonlyMap<string, string>): Map<string, LogPosition | undefined> {
  return new Map([...stored].map(([component, text]) => [component, parsePosition(text)]));
}

/**
 * Asks the router who it is when none of the rotated files is listed any more that are known of some log: they were all deleted
 * since, or are those of another device. Once for the same files.
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

/** True if some log that had rotated files has none any more: routers delete the logs of all components together. */
function findWiped(listing: Listing, positions: ReadonlyMap<string, LogPosition | undefined>): boolean {
  return [...positions].some(([component, position]) => {
    if (!position || (listing.logs.get(component)?.rotated.length ?? 0) > 0) return false;
    return position.isWiped || Object.keys(position.completed).length + Object.keys(position.waiting).length > 0;
  });
}
