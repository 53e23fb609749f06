import type { Clock } from '../../base/index.ts';
import { type RouterSettings, toLifecycleWish } from '../../config/index.ts';
import { LIFECYCLE_STATES, type LifecyclePause, type LifecycleWish } from '../../model/index.ts';
import type { Store } from '../../store/index.ts';
import type { LifecycleSummary } from '../../web/index.ts';
import type { RouterValues } from './kept-pace.ts';

/** Storage of the states, and the clock for their ends. */
interface LifecycleKeeperOptions {
  /** Stores a state that was asked for; throws if it cannot. */
  readonly store: Pick<Store, 'writeValue'>;
  /** Small facts about routers, kept over a restart. */
  readonly values: RouterValues;
  /** Clock whose wall time ends states. */
  readonly clock: Clock;
}

/** The state of a router that holds now. */
export interface RouterLifecycle extends LifecycleWish {
  readonly setBy: LifecycleSummary['setBy'];
  /** The last time in which it was not asked; `undefined` if there was none. */
  readonly pause: LifecyclePause | undefined;
}

/** The stored form of one router. */
interface Stored {
  /** As the last request wanted it. */
  readonly wish?: LifecycleWish | undefined;
  readonly pause?: LifecyclePause | undefined;
}

/** Key of the state of a router. */
const LIFECYCLE_KEY = 'lifecycle';
const NOTHING: Stored = {};

/** The states of life of all routers: those of the configuration before those that were asked for. */
export class LifecycleKeeper {
  readonly #options: LifecycleKeeperOptions;
  readonly #stored = new Map<string, Stored>();

  constructor(options: LifecycleKeeperOptions) {
    this.#options = options;
  }

  /** Returns the state of a router that holds now. Notes the begin or end of a time in which it is not asked. */
  resolve({ name, ...settings }: Pick<RouterSettings, 'name' | 'state' | 'state_until'>): RouterLifecycle {
    const configured = toLifecycleWish(settings);
    const nowMs = this.#options.clock.now();
    const stored = this.#read(name);
    const holds = (wish: LifecycleWish | undefined) => wish && (wish.untilMs ?? Infinity) > nowMs;
    const named = holds(configured) ? configured : undefined;
    const wanted = named ?? (holds(stored.wish) ? stored.wish : undefined);
    const state = wanted?.state ?? 'active';
    const pause = movePause(stored.pause, isAsked({ state }), nowMs);
    if (pause !== stored.pause) this.#note(name, { ...stored, pause });
    const setBy = wanted === undefined ? 'default' : wanted === named ? 'configuration' : 'request';
    return { state, untilMs: wanted?.untilMs, setBy, pause };
  }

  /** Returns true if the configuration names a state that holds now. */
  isConfigured({ state, state_until: untilMs = Infinity }: Pick<RouterSettings, 'state' | 'state_until'>): boolean {
    return state !== undefined && untilMs > this.#options.clock.now();
  }

  /** Stores the state that a request wants. Rejects with a `StoreError`, with nothing changed, if that fails. */
  async request(name: string, wish: LifecycleWish): Promise<void> {
    const next = { ...this.#read(name), wish: wish.state === 'active' ? undefined : wish };
    await this.#options.store.writeValue(name, LIFECYCLE_KEY, JSON.stringify(next));
    this.#stored.set(name, next);
  }

  /** Drops what is in memory about a router that is not configured any more. */
  forget(name: string): void {
    this.#stored.delete(name);
  }

  #read(name: string): Stored {
    const known = this.#stored.get(name);
    if (known) return known;
    const stored = parseStored(this.#options.values.read(name, LIFECYCLE_KEY));
    this.#stored.set(name, stored);
    return stored;
  }

  #note(name: string, next: Stored): void {
    this.#stored.set(name, next);
    this.#options.values.write(name, LIFECYCLE_KEY, JSON.stringify(next));
  }
}

/** Returns true if a router in this state is asked. */
export function isAsked({ state }: Pick<LifecycleWish, 'state'>): boolean {
  return state === 'active' || state === 'maintenance';
}

function movePause(pause: LifecyclePause | undefined, asked: boolean, nowMs: number): LifecyclePause | undefined {
  const isOpen = pause !== undefined && pause.toMs === undefined;
  if (!asked) return isOpen ? pause : { fromMs: nowMs };
  return isOpen ? { fromMs: pause.fromMs, toMs: nowMs } : pause;
}

/** Parses what this program has written; anything else counts as nothing. */
function parseStored(text: string | undefined): Stored {
  if (text === undefined) return NOTHING;
  let written: { readonly wish?: Partial<LifecycleWish>; readonly pause?: Partial<LifecyclePause> } | null;
  try {
    written = JSON.parse(text) as typeof written;
  } catch {
    return NOTHING;
  }
  const state = LIFECYCLE_STATES.find((one) => one === written?.wish?.state);
  const fromMs = toNumber(written?.pause?.fromMs);
  return {
    wish: state && { state, untilMs: toNumber(written?.wish?.untilMs) },
    pause: fromMs === undefined ? undefined : { fromMs, toMs: toNumber(written?.pause?.toMs) },
  };
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
