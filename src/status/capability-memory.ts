/** What a router lacks, or does not let this account read. */
export type Refusal = 'unsupported' | 'forbidden';

const HOUR_MS = 3_600_000;
/** A card is put in, or rights are given, without the firmware changing: then this is how long it takes to be seen. */
const ASK_AGAIN_MS: Readonly<Record<Refusal, number>> = { unsupported: 24 * HOUR_MS, forbidden: HOUR_MS };

/** What a router answered for each resource, so that it is not asked again and again for what it does not have. */
export class CapabilityMemory {
  readonly #known = new Map<string, { readonly refusal: Refusal | undefined; readonly untilMs: number }>();

  /** Notes an answer; without a refusal the resource exists. Monotonic time in milliseconds. */
  note(resource: string, refusal: Refusal | undefined, nowMs: number): void {
    const untilMs = refusal ? nowMs + ASK_AGAIN_MS[refusal] : 0;
    this.#known.set(resource, { refusal, untilMs });
  }

  /** Whether it makes sense to ask for the resource. */
  mayAsk(resource: string, nowMs: number): boolean {
    return nowMs >= (this.#known.get(resource)?.untilMs ?? 0);
  }

  /** The last answer; `undefined` when there was none. */
  get(resource: string): Refusal | 'readable' | undefined {
    const known = this.#known.get(resource);
    return known && (known.refusal ?? 'readable');
  }

  /** Forgets what was refused: the router has become another one. Returns what may be asked for again. */
  forget(): readonly string[] {
    const refused = [...this.#known].filter(([, { refusal }]) => refusal).map(([resource]) => resource);
    for (const resource of refused) this.#known.delete(resource);
    return refused;
  }
}
