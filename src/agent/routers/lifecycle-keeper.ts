import { z } from 'zod';
import { type Clock, parseJson } from '../../base/index.ts';
import { type RouterSettings, toLifecycleWish } from '../../config/index.ts';
import { LIFECYCLE_STATES, type LifecyclePause, type LifecycleWish, type Store } from '../../model/index.ts';
import type { LifecycleSummary } from '../../web/index.ts';
import type { RouterValues } from './adaptive-interval.ts';

interface LifecycleKeeperOptions {
  readonly store: Pick<Store, 'writeValue'>;
  readonly values: RouterValues;
  /** Its wall time ends states. */
  readonly clock: Clock;
}

export interface RouterLifecycle extends LifecycleWish {
  readonly setBy: LifecycleSummary['setBy'];
  /** The last time without polls; `undefined` if there was none. */
  readonly pause: LifecyclePause | undefined;
}

const time = z.number().optional().catch(undefined);
/** What this program did not write counts as empty. */
const storedSchema = z.object({
  wish: z
    .object({ state: z.enum(LIFECYCLE_STATES), untilMs: time })
    .optional()
    .catch(undefined),
  pause: z.object({ fromMs: z.number(), toMs: time }).optional().catch(undefined),
});
type Stored = z.output<typeof storedSchema>;

const LIFECYCLE_KEY = 'lifecycle';

/** The lifecycle states of all routers. A state in the configuration takes precedence over a requested one. */
export class LifecycleKeeper {
  readonly #options: LifecycleKeeperOptions;
  readonly #stored = new Map<string, Stored>();

  constructor(options: LifecycleKeeperOptions) {
    this.#options = options;
  }

  /** Returns the current state of a router. Records the start or end of a pause. */
  resolve({ name, ...settings }: Pick<RouterSettings, 'name' | 'state' | 'state_until'>): RouterLifecycle {
    const configured = toLifecycleWish(settings);
    const nowMs = this.#options.clock.now();
    const stored = this.#read(name);
    const holds = (wish: LifecycleWish | undefined) => wish && (wish.untilMs ?? Infinity) > nowMs;
    const named = holds(configured) ? configured : undefined;
    const wanted = named ?? (holds(stored.wish) ? stored.wish : undefined);
    const state = wanted?.state ?? 'active';
    const pause = movePause(stored.pause, isAsked({ state }), nowMs);
    if (pause !== stored.pause) this.#write(name, { ...stored, pause });
    const setBy = wanted === undefined ? 'default' : wanted === named ? 'configuration' : 'request';
    return { state, untilMs: wanted?.untilMs, setBy, pause };
  }

  /** Returns true if the configuration sets the current state. */
  isConfigured({ state, state_until: untilMs = Infinity }: Pick<RouterSettings, 'state' | 'state_until'>): boolean {
    return state !== undefined && untilMs > this.#options.clock.now();
  }

  /** Stores a requested state. Rejects with a `StoreError`, with nothing changed, if that fails. */
  async request(name: string, wish: LifecycleWish): Promise<void> {
    const next = { ...this.#read(name), wish: wish.state === 'active' ? undefined : wish };
    await this.#options.store.writeValue(name, LIFECYCLE_KEY, JSON.stringify(next));
    this.#stored.set(name, next);
  }

  forget(name: string): void {
    this.#stored.delete(name);
  }

  #read(name: string): Stored {
    const known = this.#stored.get(name);
    if (known) return known;
    const stored = storedSchema.safeParse(parseJson(this.#options.values.read(name, LIFECYCLE_KEY) ?? '')).data ?? {};
    this.#stored.set(name, stored);
    return stored;
  }

  #write(name: string, next: Stored): void {
    this.#stored.set(name, next);
    this.#options.values.write(name, LIFECYCLE_KEY, JSON.stringify(next));
  }
}

export function isAsked({ state }: Pick<LifecycleWish, 'state'>): boolean {
  return state === 'active' || state === 'maintenance';
}

function movePause(pause: LifecyclePause | undefined, asked: boolean, nowMs: number): LifecyclePause | undefined {
  const isOpen = pause !== undefined && pause.toMs === undefined;
  if (!asked) return isOpen ? pause : { fromMs: nowMs };
  return isOpen ? { fromMs: pause.fromMs, toMs: nowMs } : pause;
}
