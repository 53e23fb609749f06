import { isDeepStrictEqual } from 'node:util';
import { Steps } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { Scheduler } from '../../schedule/index.ts';
import { ROUTER_STATES, type RouterStateName } from '../metrics/self-metrics.ts';
import { renderSettingsHash } from '../settings-hash.ts';
import type { FleetCounts } from '../views/fleet-history.ts';
import type { RouterAgent } from './router-agent.ts';

/** Scheduler and exposition of all routers. */
export interface FleetOptions {
  /** Scheduler that runs the routers' activities. */
  readonly scheduler: Scheduler;
  /** Exposition from which removed routers are dropped. */
  readonly exposition: FleetExposition;
}

/** The wanted set of routers. */
export interface FleetWish {
  readonly routers: readonly RouterSettings[];
  /** Settings of all routers. When they change, every router is restarted. */
  readonly common: object;
  /** Creates the agent of one router; does not throw. */
  readonly create: (settings: RouterSettings) => RouterAgent;
}

interface Wanted {
  readonly settings: RouterSettings;
  readonly hash: string;
}

interface Member {
  readonly agent: RouterAgent;
  readonly hash: string;
}

/** The routers of the configuration, each with its agent and its activities. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get routers(): readonly RouterAgent[] {
    return [...this.#members.values()].map(({ agent }) => agent);
  }

  find(name: string): RouterAgent | undefined {
    return this.#members.get(name)?.agent;
  }

  countStates(): Record<RouterStateName, number> {
    const counts = Object.fromEntries(ROUTER_STATES.map((state) => [state, 0])) as Record<RouterStateName, number>;
    for (const { agent } of this.#members.values()) counts[agent.stats.state]++;
    return counts;
  }

  /** Counts the routers for the pages. */
  countForPages(): FleetCounts {
    const counts = { up: 0, down: 0, stale: 0, other: 0 };
    for (const { agent } of this.#members.values()) {
      const { state, isStale } = agent.stats;
      counts[state === 'up' || state === 'down' ? state : 'other']++;
      if (isStale) counts.stale++;
    }
    return counts;
  }

  /**
   * Applies the wanted set. Never rejects. A router whose settings did not change keeps everything: session, phase,
   * back-off, counters. A changed one is restarted and keeps its counters. `signal` bounds the logout.
   */
  async apply({ routers, common, create }: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    const commonHash = JSON.stringify(common);
    const steps = new Steps();
    const wanted = new Map<string, Wanted>();
    for (const one of routers) {
      wanted.set(one.name, { settings: one, hash: hashRouter(one) + commonHash });
      if (steps.isDue) await steps.next();
    }
    const leaving = [...this.#members].filter(([name, { hash }]) => wanted.get(name)?.hash !== hash);
    const removals: Promise<void>[] = [];
    for (const [, { agent }] of leaving) {
      removals.push(this.#remove(agent, wanted.get(agent.settings.name)?.settings, signal));
      if (steps.isDue) await steps.next();
    }
    await Promise.all(removals);
    const added = [...wanted.values()].filter(({ settings: { name } }) => !this.#members.has(name));
    for (const { settings: one, hash } of added) {
      this.#add(create(one), hash);
      if (steps.isDue) await steps.next();
    }
    const gone = leaving.filter(([name]) => !wanted.has(name)).length;
    const changed = leaving.length - gone;
    return { added: added.length - changed, changed, removed: gone };
  }

  /** Logs out of all routers. */
  async close(signal: AbortSignal): Promise<void> {
    await Promise.all(this.routers.map((agent) => agent.close(signal)));
  }

  #add(agent: RouterAgent, hash: string): void {
    this.#members.set(agent.settings.name, { agent, hash });
    for (const activity of agent.activities()) this.#options.scheduler.add(activity);
    agent.start();
  }

  async #remove(agent: RouterAgent, next: RouterSettings | undefined, signal: AbortSignal): Promise<void> {
    const { name, labels } = agent.settings;
    const { scheduler, exposition } = this.#options;
    this.#members.delete(name);
    await Promise.all(agent.activities().map(({ key }) => scheduler.remove(key)));
    // A failed logout does not concern the new settings.
    await agent.close(signal).catch(() => {});
    // Labels are part of every series, so counters with other labels are other series.
    if (next && isDeepStrictEqual(next.labels, labels)) exposition.forgetValues(name);
    else exposition.forget(name);
  }
}

/** Number of routers that a new configuration has changed. */
export interface FleetChange {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Routers with the same modules share one list of them, which is long. */
const moduleHashes = new WeakMap<object, string>();

function hashRouter({ modules, ...rest }: RouterSettings): string {
  const moduleHash = moduleHashes.get(modules) ?? renderSettingsHash(modules);
  moduleHashes.set(modules, moduleHash);
  return renderSettingsHash([moduleHash, rest]);
}
