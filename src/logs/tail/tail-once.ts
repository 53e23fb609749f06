import { isBusy } from '../errors.ts';
import { COMPONENTS_MAX, type ListedLog, type Listing, parseListing } from '../names.ts';
import type { LogPosition } from '../position/position.ts';
import { parsePosition } from '../position/position-text.ts';
import { ComponentTail } from './component-tail.ts';
import { askForTime, findZone } from './find-zone.ts';
import { TailMemory } from './memory.ts';
import { OtherDevice, TailContext, type TailOptions } from './tail-context.ts';

export interface TailOnceOptions extends TailOptions {
  /** Returns true if a component's log is wanted. */
  readonly isWanted: (component: string) => boolean;
  /** Called between two logs: true leaves the rest to the next run, because the router has something else to do. */
  readonly shouldYield?: () => boolean;
}

/** A log from which the router will soon delete what is unread is read before the others. Milliseconds. */
const DANGER_MS = 10 * 60_000;
const NOT_LISTED: ListedLog = { current: undefined, rotated: [] };

/**
 * Reads what is new in the logs of one router, log by log, and makes it durable. A fault of one file is reported and
 * harms no other; rejects when the router cannot be reached, or with disposition `hold-back` when the store is full.
 * A log with much to read gives way to the others in between. Resolves to true when some were left for the next run, which
 * begins with them. Where no zone is configured it is learnt first, wherever the router shows it.
 */
export async function tailOnce(options: TailOnceOptions, signal: AbortSignal): Promise<boolean> {
  try {
    return await tailDevice(options, signal);
  } catch (cause) {
    if (!(cause instanceof OtherDevice)) throw cause;
    const { serial } = cause;
    return await tailDevice({ ...options, serial, readSerial: undefined }, signal);
  }
}

/** {@link tailOnce}; throws {@link OtherDevice} when the device is found to be another one than `serial` says. */
async function tailDevice(options: TailOnceOptions, signal: AbortSignal): Promise<boolean> {
  const { source, records, router, isWanted, memory = new TailMemory(), shouldYield = () => false } = options;
  const list = async (): Promise<Listing> => parseListing(await source.listLogs(signal));
  const positions = parsePositions(records.readPositions(router.name));
  const facts = records.readFacts(router.name);
  const context = new TailContext(options, memory, facts);
  // A router that does not give its logs is not asked for its time for them, either.
  const listing = await list();
  if (context.needsTime && !(await askForTime(context, signal))) return true;
  if (context.zone.isAssumed && ((facts === undefined && positions.size === 0) || context.isReplaced))
    await findZone(context, listing, signal);
  await confirmLacking(context, listing, positions, isWanted, signal);
  context.isWiped = findWiped(listing, positions);
  const excess = findExcess(listing, positions, memory.told);
  if (excess.length > 0) {
    await records.forgetLogs?.(router.name, excess);
    for (const component of excess) {
      positions.delete(component);
      memory.forget(component);
    }
    context.report({ type: 'logs-forgotten', components: excess });
  }
  const turns = new LogTurns(context, { list, listing, positions, isWanted });
  try {
    await turns.begin();
    return await turns.run(shouldYield, signal);
  } finally {
    await context.settle();
    if (!signal.aborted && !context.hasLostCommit) await context.commit();
  }
}

/** The logs of one run, and how they are listed. */
interface LogTurnsOptions {
  /** Asks the router for its files. */
  readonly list: () => Promise<Listing>;
  /** Its first answer. */
  readonly listing: Listing;
  /** Where the logs stood. */
  readonly positions: ReadonlyMap<string, LogPosition | undefined>;
  readonly isWanted: TailOnceOptions['isWanted'];
}

interface LogTurn {
  readonly component: string;
  readonly tail: ComponentTail;
}

/** The turns of a router's logs in one run. */
class LogTurns {
  readonly #context: TailContext;
  readonly #options: LogTurnsOptions;
  /** As the router listed its files last. */
  #listing: Listing;
  /** Logs that have a turn to come, in this order. */
  readonly #waiting: LogTurn[];
  readonly #settled: LogTurn[] = [];

  constructor(context: TailContext, options: LogTurnsOptions) {
    const { listing, positions, isWanted } = options;
    const { memory, clock } = context;
    this.#context = context;
    this.#options = options;
    this.#listing = listing;
    const known = [...new Set([...listing.logs.keys(), ...positions.keys()])];
    for (const component of known) memory.told.add(component);
    this.#tell();
    const wanted = known.filter((component) => isWanted(component));
    this.#waiting = sortByUrgency(wanted, memory, clock.monotonic()).map((component) => ({
      component,
      tail: new ComponentTail(context, component, positions.get(component), () => this.#relist(component)),
    }));
  }

  /** Makes durable what has to be before anything is read, and notes what is listed. */
  async begin(): Promise<void> {
    if (this.#context.isReplaced) {
      const before = this.#waiting.filter(({ component }) => this.#options.positions.has(component));
      // All logs of the device before end, in one step with the serial number that says so: nothing is made durable before that.
      await commitAll(
        before.map(({ tail }) => tail.replace()),
        this.#context,
      );
    }
    const pins = this.#waiting.flatMap(({ component, tail }) => tail.pin(this.#listedOf(component)));
    if (pins.length > 0) await commitAll(pins, this.#context);
    await this.#noteListing();
  }

  /** Reads log by log. Resolves to true if some were left because of `shouldYield`. */
  async run(shouldYield: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { served, broken } = this.#context.memory;
    let isFirst = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (!isFirst && shouldYield()) return true;
      isFirst = false;
      const { component, tail } = next;
      served.add(component);
      broken.add(component);
      const outcome = await runUnlessBusy(tail, this.#listedOf(component), signal);
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
    for (const { component, tail } of this.#waiting) await tail.noteListed(this.#listedOf(component), false);
    for (const { component, tail } of this.#settled) await tail.noteListed(this.#listedOf(component), true);
  }

  /** Tells what is listed; of the logs that the run began with alone, because the next run bounds how many there are. */
  #tell(): void {
    const { logs, unknown } = this.#listing;
    const { memory, report } = this.#context;
    const told = [...logs].filter(([component]) => memory.told.has(component));
    const archives = new Map(told.map(([component, { rotated }]) => [component, rotated.length]));
    report({ type: 'logs-listed', archives, unknown });
  }
}

/** Reads a log; `busy` when the router gives none of its files now, which is no reason to read no other log. */
async function runUnlessBusy(tail: ComponentTail, listed: ListedLog, signal: AbortSignal): Promise<string> {
  try {
    return await tail.run(listed, signal);
  } catch (cause) {
    if (signal.aborted || !isBusy(cause)) throw cause;
    return 'busy';
  }
}

/** Makes steps of several logs durable at once, then reports them. */
async function commitAll(steps: readonly ReturnType<ComponentTail['replace']>[], context: TailContext): Promise<void> {
  await context.commit(...steps.map(({ commit }) => commit));
  for (const { report } of steps) report();
}

/**
 * Those that had no turn since a run last came to its end before the others, so that runs that all end before their time pass over
 * none for ever; among them those in danger first, the most urgent before the others; the rest in the order of their names. One that
 * ended a run with an error comes last, however near its loss: it would keep all others from being read.
 */
function sortByUrgency(components: readonly string[], memory: TailMemory, nowMs: number): string[] {
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
  context: TailContext,
  listing: Listing,
  positions: ReadonlyMap<string, LogPosition | undefined>,
  isWanted: TailOnceOptions['isWanted'],
  signal: AbortSignal,
): Promise<void> {
  const { memory } = context;
  const lacking = [...positions].flatMap(([component, position]) => {
    if (!position || !isWanted(component)) return [];
    const known = [...Object.keys(position.completed), ...Object.keys(position.waiting)];
    const listed = listing.logs.get(component)?.rotated.map(({ stamp }) => stamp) ?? [];
    if (known.length === 0 || known.some((stamp) => listed.includes(stamp))) return [];
    return `${component} ${known.toSorted().join(' ')}`;
  });
  if (!context.isReplaced && lacking.some((one) => !memory.lacking.has(one))) await context.confirmDevice(signal);
  memory.lacking = new Set(lacking);
}

/** True if some log that had rotated files has none any more: routers delete the logs of all components together. */
function findWiped(listing: Listing, positions: ReadonlyMap<string, LogPosition | undefined>): boolean {
  return [...positions].some(([component, position]) => {
    if (!position || (listing.logs.get(component)?.rotated.length ?? 0) > 0) return false;
    return position.isWiped || Object.keys(position.completed).length + Object.keys(position.waiting).length > 0;
  });
}
