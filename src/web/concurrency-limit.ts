import { WebError } from './errors.ts';

/** Part of the slots that one client may take, so that it leaves some for others. */
const SHARE = 0.5;

/** Limits concurrency: at most a fixed number of holders at a time, and at most a share of them of one client. */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #shareMax: number;
  readonly #byClient = new Map<string, number>();
  #inside = 0;

  /** `shareMax`: slots of one client. Default: half of all. */
  constructor(max: number, shareMax = Math.ceil(max * SHARE)) {
    this.#max = max;
    this.#shareMax = shareMax;
  }

  /**
   * Takes a slot and returns the function that releases it (idempotent); `undefined` when all slots are taken, or the share of
   * `client`. Without `client`, nothing is counted for anybody.
   */
  enter(client?: string): (() => void) | undefined {
    if (this.#inside >= this.#max) return undefined;
    if (client !== undefined && !this.#count(client, 1)) return undefined;
    this.#inside++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inside--;
      if (client !== undefined) this.#count(client, -1);
    };
  }

  /** Does work in a slot. Throws {@link WebError} `busy` when all slots are taken; `what` names the work there. */
  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    const leave = this.enter();
    if (!leave) throw new WebError('busy', `Too many ${what} at once`, { disposition: 'retry' });
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** False when the share of the client is used up. */
  #count(client: string, change: 1 | -1): boolean {
    const held = (this.#byClient.get(client) ?? 0) + change;
    if (held > this.#shareMax) return false;
    if (held === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, held);
    return true;
  }
}
