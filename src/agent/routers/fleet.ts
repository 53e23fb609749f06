import { isDeepStrictEqual } from 'node:util';
import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, Steps, type Timer } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import type { LifecycleWish } from '../../model/index.ts';
import type { Scheduler } from '../../schedule/index.ts';
import { type Store, StoreError } from '../../store/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import { ROUTER_STATES, type RouterStateName } from '../metrics/self-metrics.ts';
import { renderSettingsHash } from '../settings-hash.ts';
import type { FleetCounts } from '../views/fleet-history.ts';
import { isAsked, type LifecycleKeeper, type RouterLifecycle } from './lifecycle-keeper.ts';
import type { RouterAgent } from './router-agent.ts';

/** Scheduler and exposition of all routers. */
interface FleetOptions {
  /** Scheduler that runs the routers' activities. */
  readonly scheduler: Scheduler;
  /** Exposition from which removed routers are dropped. */
  readonly exposition: FleetExposition;
  /** Loads the stored state of routers before they run, and lets go of it. Default: nothing to do. */
  readonly store?: Pick<Store, 'openRouter' | 'closeRouter'> | undefined;
  /** The states of life of the routers. */
  readonly lifecycle: LifecycleKeeper;
  /** Clock for the ends of states and the time limit of logouts. */
  readonly clock: Clock;
  /** Log for changes of states. */
  readonly logger: Logger;
}

/** The wanted set of routers. */
export interface FleetWish {
  readonly routers: readonly RouterSettings[];
  /** Settings of all routers. When they change, every router is restarted. */
  readonly common: object;
  /** Redaction and metric rules for log lines, which every router takes over as it goes on. */
  readonly lines: LineProcessing;
  /** Creates the agent of one router; does not throw. */
  readonly create: (settings: RouterSettings, lifecycle: RouterLifecycle) => RouterAgent;
  /** Called for each router that is not wanted any more, once nothing of it runs. Default: not called. */
  readonly onRemoved?: ((router: string) => void) | undefined;
}

interface Wanted {
  readonly settings: RouterSettings;
  readonly hash: string;
}

interface Hashes {
  /** Hash of its own settings. */
  readonly hash: string;
  /** Hash of the settings of all routers with which it was created. */
  readonly commonHash: string;
}

interface Member extends Hashes {
  readonly agent: RouterAgent;
}

/** A router whose own settings differ. */
interface ChangedRouter {
  readonly before: RouterSettings;
  readonly after: RouterSettings;
}

/** Changes that a wanted set of routers would make. */
export interface FleetDifference {
  /** Names of routers. */
  readonly added: readonly string[];
  readonly changed: readonly ChangedRouter[];
  /** Names of routers. */
  readonly removed: readonly string[];
  /** Number of routers whose session would end and begin anew. */
  readonly reconnected: number;
}

/** Outcome of a request for a state of life. */
type StateChange = 'changed' | 'unknown' | 'configured';

/** Time limit of the logout of a router that is paused. Milliseconds. */
const LOGOUT_MS_MAX = 5000;
/** Routers whose state is loaded at the same time. */
const OPENED_MAX = 64;
/** Ends of states are computed again after this time, because the wall clock may be set. Milliseconds. */
const LOOK_AGAIN_MS = 3_600_000;

/** The routers of the configuration, each with its agent and its activities. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();
  readonly #mutex = new Mutex();
  /** Agents that are added. */
  readonly #turns = new Mutex();
  /** Creates the agents of the last wish. */
  #create: FleetWish['create'] | undefined;
  /** Set while a state has an end. */
  #endTimer: Timer | undefined;
  #isClosed = false;

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
    for (const { agent } of this.#members.values()) counts[agent.recorder.state.reach]++;
    return counts;
  }

  /** Counts the routers for the pages, in steps. */
  async countForPages(): Promise<FleetCounts> {
    const counts = { up: 0, down: 0, stale: 0, other: 0 };
    const steps = new Steps();
    for (const { recorder } of this.routers) {
      const { reach } = recorder.state;
      counts[reach === 'up' || reach === 'down' ? reach : 'other']++;
      if (recorder.isStale) counts.stale++;
      if (steps.isDue) await steps.next();
    }
    return counts;
  }

  /**
   * Applies the wanted set. Never rejects. A router whose settings did not change keeps everything: session, phase,
   * back-off, counters. A changed one is restarted and keeps its counters. `signal` bounds the logout. Once the fleet is closed,
   * none begins.
   */
  apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    return this.#mutex.run(() => this.#apply(wish, signal));
  }

  /**
   * Gives a router a state of life, stored before it holds. Throws a `StoreError`, with nothing changed, if it cannot be
   * stored. `configured`: nothing changed, because the configuration names a state.
   */
  setState(name: string, wish: LifecycleWish): Promise<StateChange> {
    return this.#mutex.run(async () => {
      const member = this.#members.get(name);
      if (!member) return 'unknown';
      const { lifecycle } = this.#options;
      if (lifecycle.isConfigured(member.agent.settings)) return 'configured';
      await lifecycle.request(name, wish);
      await this.#renewState(member.agent);
      this.#awaitEnds();
      return 'changed';
    });
  }

  /** Compares the wanted set with what runs, and changes nothing. */
  async compare(wish: Pick<FleetWish, 'routers' | 'common'>): Promise<FleetDifference> {
    const { wanted, commonHash } = await readWish(wish);
    const steps = new Steps();
    const removed = await filterInSteps(this.#members.keys(), (name) => !wanted.has(name), steps);
    const added: string[] = [];
    const changed: ChangedRouter[] = [];
    let reconnected = 0;
    for (const [name, { settings, hash }] of wanted) {
      const member = this.#members.get(name);
      const before = member?.agent.settings;
      if (!member || !before) added.push(name);
      else {
        const isOther = member.hash !== hash;
        const isMoved = before.state !== settings.state || before.state_until !== settings.state_until;
        if (isOther || isMoved) changed.push({ before, after: settings });
        if ((isOther || member.commonHash !== commonHash) && isAsked(member.agent.lifecycle)) reconnected++;
      }
      if (steps.isDue) await steps.next();
    }
    return { added, changed, removed, reconnected };
  }

  async #apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    this.#create = wish.create;
    const steps = new Steps();
    const { wanted, commonHash } = await readWish(wish);
    const added = await filterInSteps(wanted.values(), ({ settings: { name } }) => !this.#members.has(name), steps);
    // Side by side: a router that does not answer its logout holds up no other.
    const changes: Promise<void>[] = [];
    let changed = 0;
    let removed = 0;
    for (const [name, { agent, hash, commonHash: common }] of [...this.#members]) {
      const next = wanted.get(name);
      if (!next) {
        removed++;
        changes.push(this.#remove(agent, signal).then(() => wish.onRemoved?.(name)));
      } else if (next.hash !== hash || common !== commonHash) {
        changed++;
        changes.push(this.#restart(agent, next.settings, { hash: next.hash, commonHash }, signal));
      } else {
        if (agent.settings !== next.settings) agent.adopt(next.settings);
        agent.useLines(wish.lines);
        changes.push(this.#renewState(agent, signal));
      }
      // What a removal goes on with when it has nothing to wait for belongs to this step.
      await Promise.resolve();
      if (steps.isDue) await steps.next();
    }
    changes.push(this.#start(added, commonHash));
    await Promise.all(changes);
    this.#awaitEnds();
    return { added: added.length, changed, removed };
  }

  /** Starts routers that are new, in their order. */
  async #start(added: readonly Wanted[], commonHash: string): Promise<void> {
    const unopened = await this.#open(added.map(({ settings: { name } }) => name));
    for (const { settings, hash } of added) {
      if (unopened.has(settings.name)) continue;
      await this.#addInTurn(() => {
        // Once the fleet is closed, nobody would close it.
        if (!this.#isClosed) this.#add(settings, { hash, commonHash });
      });
    }
  }

  /**
   * Ends the agent of a router, and only then starts another one with new settings: tokens are used once, and a log has one
   * position. Until then it is listed, and its last values are served.
   */
  async #restart(agent: RouterAgent, settings: RouterSettings, hashes: Hashes, signal: AbortSignal): Promise<void> {
    const { name } = settings;
    await this.#end(agent, signal);
    const unopened = await this.#open([name]);
    await this.#addInTurn(() => {
      // Labels are part of every series, so counters with other labels are other series.
      if (isDeepStrictEqual(settings.labels, agent.settings.labels)) this.#options.exposition.forgetValues(name);
      else this.#options.exposition.forget(name);
      if (unopened.has(name) || this.#isClosed) this.#members.delete(name);
      else this.#add(settings, hashes);
    });
  }

  /** Adds routers one after another and in steps, however many could be added at once. */
  #addInTurn(add: () => void): Promise<void> {
    return this.#turns.run(async () => {
      const steps = new Steps();
      if (steps.isDue) await steps.next();
      add();
    });
  }

  /** Loads the stored state of routers. Returns the names of those that cannot run, because it could not be loaded. */
  async #open(names: readonly string[]): Promise<ReadonlySet<string>> {
    const { store, logger } = this.#options;
    const failed = new Set<string>();
    if (!store) return failed;
    let failure: unknown;
    const left = names.values();
    const steps = new Steps();
    const next = async () => {
      for (const name of left) {
        if (this.#isClosed) return;
        try {
          await store.openRouter(name);
        } catch (cause) {
          if (!(cause instanceof StoreError)) throw cause;
          failed.add(name);
          failure = cause;
        }
        if (steps.isDue) await steps.next();
      }
    };
    await Promise.all(Array.from({ length: OPENED_MAX }, next));
    if (failed.size > 0) {
      const error = renderErrorChain(failure);
      logger.error('Routers do not run, because their state could not be read', { routers: failed.size, error });
    }
    return failed;
  }

  /** Logs out of all routers. */
  async close(signal: AbortSignal): Promise<void> {
    this.#isClosed = true;
    this.#endTimer?.cancel();
    await Promise.all(this.routers.map((agent) => agent.close(signal)));
  }

  #add(settings: RouterSettings, { hash, commonHash }: Hashes): void {
    const { scheduler, exposition, lifecycle } = this.#options;
    const state = lifecycle.resolve(settings);
    const agent = this.#create?.(settings, state);
    if (!agent) return;
    this.#members.set(settings.name, { agent, hash, commonHash });
    for (const activity of agent.activities()) scheduler.add(activity);
    agent.start();
    if (state.state === 'retired') exposition.forget(settings.name);
    if (state.state !== 'active') this.#logState('A router is not active', settings.name, state);
  }

  /** Has a router go on in the state that holds now. One that is asked from now on, or not any more, begins anew. */
  async #renewState(agent: RouterAgent, signal?: AbortSignal): Promise<void> {
    const { lifecycle, clock } = this.#options;
    const { settings, lifecycle: before } = agent;
    const next = lifecycle.resolve(settings);
    if (isSameState(before, next)) return;
    if (before.state === next.state || (isAsked(before) && isAsked(next))) agent.continueIn(next);
    else {
      const member = this.#members.get(settings.name);
      if (!member) return;
      using deadline = openDeadline(clock, LOGOUT_MS_MAX, signal);
      await this.#restart(agent, settings, member, deadline.signal);
      if (this.#isClosed) return;
    }
    if (isAsked(next)) this.#logState('The state of a router changed', settings.name, next);
  }

  #logState(message: string, router: string, { state, untilMs, setBy }: RouterLifecycle): void {
    const until = untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() };
    this.#options.logger.info(message, { router, state, ...until, setBy });
  }

  /** Waits for the next end of a state. */
  #awaitEnds(): void {
    this.#endTimer?.cancel();
    this.#endTimer = undefined;
    const { clock } = this.#options;
    let endMs = Infinity;
    for (const { agent } of this.#members.values()) endMs = Math.min(endMs, agent.lifecycle.untilMs ?? Infinity);
    if (this.#isClosed || endMs === Infinity) return;
    const waitMs = Math.min(Math.max(0, endMs - clock.now()), LOOK_AGAIN_MS);
    this.#endTimer = clock.setTimer(waitMs, () => void this.#mutex.run(() => this.#endStates()));
  }

  async #endStates(): Promise<void> {
    const nowMs = this.#options.clock.now();
    const steps = new Steps();
    for (const agent of this.routers) {
      if (this.#isClosed) return;
      if ((agent.lifecycle.untilMs ?? Infinity) <= nowMs) await this.#renewState(agent);
      if (steps.isDue) await steps.next();
    }
    this.#awaitEnds();
  }

  async #end(agent: RouterAgent, signal: AbortSignal): Promise<void> {
    await Promise.all(agent.activities().map(({ key }) => this.#options.scheduler.remove(key)));
    // A failed logout does not concern the new settings.
    await agent.close(signal).catch(() => {});
  }

  async #remove(agent: RouterAgent, signal: AbortSignal): Promise<void> {
    const { name } = agent.settings;
    this.#members.delete(name);
    await this.#end(agent, signal);
    this.#options.exposition.forget(name);
    this.#options.lifecycle.forget(name);
    try {
      await this.#options.store?.closeRouter(name);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#options.logger.warn('Pending state of a router could not be stored', {
        router: name,
        error: renderErrorChain(cause),
      });
    }
  }
}

async function readWish({ routers, common }: Pick<FleetWish, 'routers' | 'common'>) {
  const steps = new Steps();
  const wanted = new Map<string, Wanted>();
  for (const one of routers) {
    wanted.set(one.name, { settings: one, hash: hashRouter(one) });
    if (steps.isDue) await steps.next();
  }
  return { wanted, commonHash: JSON.stringify(common) };
}

/** Returns those of many that are wanted. */
async function filterInSteps<T>(many: Iterable<T>, isWanted: (one: T) => boolean, steps: Steps): Promise<T[]> {
  const wanted: T[] = [];
  for (const one of many) {
    if (isWanted(one)) wanted.push(one);
    if (steps.isDue) await steps.next();
  }
  return wanted;
}

function isSameState(a: RouterLifecycle, b: RouterLifecycle): boolean {
  return a.state === b.state && a.untilMs === b.untilMs && a.setBy === b.setBy;
}

/** Number of routers that a new configuration has changed. */
export interface FleetChange {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Routers with the same modules share one list of them, which is long. */
const moduleHashes = new WeakMap<object, string>();

/** The state of life is none of these settings: a change of it does not begin anew. */
function hashRouter({ modules, ...rest }: RouterSettings): string {
  const moduleHash = moduleHashes.get(modules) ?? renderSettingsHash(modules);
  moduleHashes.set(modules, moduleHash);
  return renderSettingsHash([moduleHash, { ...rest, state: undefined, state_until: undefined }]);
}
