import { ComponentTail, type TailOptions } from './component-tail.ts';
import { type ListedLog, type Listing, parseListing } from './names.ts';

export interface TailOnceOptions extends TailOptions {
  /** Whether a component's log is wanted. */
  readonly isWanted: (component: string) => boolean;
  /** Asked between two logs: whether the rest should wait for the next turn, because the router has something else to do. */
  readonly shouldYield?: () => boolean;
  /** What the turn before returned: the log after which to go on, so that no log is passed over for ever. */
  readonly after?: string | undefined;
}

/**
 * Reads what is new in the logs of one router, log by log, and makes it durable. A fault of one file is reported and
 * harms no other; rejects when the router cannot be reached, or with disposition `hold-back` when the store is full.
 * Resolves with the last log that was read when the rest was left for the next turn, else with `undefined`.
 */
export async function tailOnce(options: TailOnceOptions, signal: AbortSignal): Promise<string | undefined> {
  const { source, records, router, report, isWanted, shouldYield = () => false, after = '' } = options;
  const list = async (): Promise<Listing> => {
    const listing = parseListing(await source.listLogs(signal));
    const archives = [...listing.logs].map(([component, log]): [string, number] => [component, log.rotated.length]);
    report({ type: 'logs-listed', archives: new Map(archives), unknown: listing.unknown });
    return listing;
  };
  const listing = await list();
  const positions = records.readPositions(router.name);
  const components = [...new Set([...listing.logs.keys(), ...positions.keys()])].filter(isWanted).toSorted();
  const start = components.findIndex((component) => component > after);
  const inTurn = start < 0 ? components : [...components.slice(start), ...components.slice(0, start)];
  let last: string | undefined;
  for (const component of inTurn) {
    if (last !== undefined && shouldYield()) return last;
    last = component;
    const relist = async () => (await list()).logs.get(component) ?? NOT_LISTED;
    const tail = new ComponentTail(options, component, positions.get(component), relist);
    await tail.run(listing.logs.get(component) ?? NOT_LISTED, signal);
  }
  return undefined;
}

const NOT_LISTED: ListedLog = { current: undefined, rotated: [] };
