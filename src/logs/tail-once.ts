import { ComponentTail, type TailOptions } from './component-tail.ts';
import { type ListedLog, type Listing, parseListing } from './names.ts';

export interface TailOnceOptions extends TailOptions {
  /** Whether a component's log is wanted. */
  readonly isWanted: (component: string) => boolean;
}

/**
 * Reads what is new in the logs of one router, log by log, and makes it durable. A fault of one file is reported and
 * harms no other; rejects when the router cannot be reached, or with disposition `hold-back` when the store is full.
 */
export async function tailOnce(options: TailOnceOptions, signal: AbortSignal): Promise<void> {
  const { source, records, router, report, isWanted } = options;
  const list = async (): Promise<Listing> => {
    const listing = parseListing(await source.listLogs(signal));
    const archives = [...listing.logs].map(([component, log]): [string, number] => [component, log.rotated.length]);
    report({ type: 'logs-listed', archives: new Map(archives), unknown: listing.unknown });
    return listing;
  };
  const listing = await list();
  const positions = records.readPositions(router.name);
  const components = new Set([...listing.logs.keys(), ...positions.keys()]);
  for (const component of components) {
    if (!isWanted(component)) continue;
    const relist = async () => (await list()).logs.get(component) ?? NOT_LISTED;
    const tail = new ComponentTail(options, component, positions.get(component), relist);
    await tail.run(listing.logs.get(component) ?? NOT_LISTED, signal);
  }
}

const NOT_LISTED: ListedLog = { current: undefined, rotated: [] };
