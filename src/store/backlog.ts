/** Number of records of one log. */
export interface LogCount {
  readonly router: string;
  readonly component: string;
  readonly records: number;
}

/**
 * Counts the records that a sink has yet to get, per log, in whole batches. Kept in memory, because metrics read it
 * often and a long outage leaves millions of batches.
 */
export class Backlog {
  readonly #logs = new Map<string, LogCount>();

  /** Adds `records` to the count of a log; a negative number subtracts. */
  add({ router, component, records }: LogCount): void {
    const key = `${router}\n${component}`;
    const sum = (this.#logs.get(key)?.records ?? 0) + records;
    if (sum > 0) this.#logs.set(key, { router, component, records: sum });
    else this.#logs.delete(key);
  }

  count(isWanted: (router: string, component: string) => boolean): number {
    let records = 0;
    for (const log of this.#logs.values()) if (isWanted(log.router, log.component)) records += log.records;
    return records;
  }
}
