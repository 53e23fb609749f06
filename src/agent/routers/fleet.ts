import { isDeepStrictEqual } from 'node:util';
import {
  type Clock,
  forEachYielding,
  type Logger,
  Mutex,
  openDeadline,
  renderErrorChain,
  StepQueue,
  type Timer,
} from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { FleetExposition } from '../../exposition/index.ts';
import { type LifecycleWish, type Store, StoreError } from '../../model/index.ts';
import type { Scheduler } from '../../schedule/index.ts';
import { renderSettingsHash } from '../../settings/index.ts';
import type { FirmwareVersion } from '../../status/index.ts';
import type { FleetMinute } from '../../web/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import { ROUTER_STATES, type RouterStateName } from '../metrics/self-metrics.ts';
import { findShown } from '../router-state/router-pages.ts';
import { isAsked, type LifecycleKeeper, type RouterLifecycle } from './lifecycle-keeper.ts';
import type { RouterAgent } from './router-agent.ts';

interface FleetOptions {
  readonly scheduler: Scheduler;
  readonly exposition: FleetExposition;
  /** Loads the stored state of routers before they run, and releases it afterwards. Default: none. */
  readonly store?: Pick<Store, 'openRouter' | 'closeRouter'> | undefined;
  readonly lifecycle: LifecycleKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FleetWish {
  readonly routers: readonly RouterSettings[];
  /** Settings of all routers. When they change, every router is restarted. */
  readonly common: object;
  /** Redaction and metric rules for log lines; routers apply them without a restart. */
  readonly lines: LineProcessing;
  /** Listed firmware versions; applied without a restart. Default: none. */
  readonly firmwareVersions?: readonly FirmwareVersion[] | undefined;
  /** Does not throw. */
  readonly create: (settings: RouterSettings, lifecycle: RouterLifecycle) => RouterAgent;
  /** Called for each removed router once all of its runs have ended. Default: not called. */
  readonly onRemoved?: ((router: string) => void) | undefined;
}

interface Wanted {
  readonly settings: RouterSettings;
  readonly hash: string;
}

interface Hashes {
  readonly hash: string;
  readonly commonHash: string;
}

interface Member extends Hashes {
  readonly agent: RouterAgent;
}

interface ChangedRouter {
  readonly before: RouterSettings;
  readonly after: RouterSettings;
}

export interface FleetDifference {
  readonly added: readonly string[];
  readonly changed: readonly ChangedRouter[];
  readonly removed: readonly string[];
  /** Number of routers whose session would be restarted. */
  readonly reconnected: number;
}

type StateChange = 'changed' | 'unknown' | 'configured';

/** Time limit of the logout from a router that is paused. Milliseconds. */
const LOGOUT_MS_MAX = 5000;
const OPENED_MAX = 64;
/** Ends of states are computed again after this time, because the wall clock may be set. Milliseconds. */
const RECHECK_MS = 3_600_000;

/** The routers of the configuration, each with its agent and its activities. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();
  readonly #mutex = new Mutex();
  /** Spreads restarts and ends of many routers. */
  readonly #steps: StepQueue;
  #create: FleetWish['create'] | undefined;
  #firmwareVersions: readonly FirmwareVersion[] = [];
  #endTimer: Timer | undefined;
  #isClosed = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#steps = new StepQueue(options.clock, 0);
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

  countForPages(): Omit<FleetMinute, 'at'> {
    const counts = { up: 0, down: 0, stale: 0, other: 0 };
    for (const { recorder } of this.routers) {
      const { reach } = findShown(recorder.state);
      counts[reach === 'up' || reach === 'down' ? reach : 'other']++;
      if (recorder.isStale) counts.stale++;
    }
    return counts;
  }

  /**
   * Applies the wanted set. Never rejects. A router with unchanged settings keeps everything: session, phase, back-off,
   * counters. A changed one is restarted and keeps its counters. `signal` bounds the logout. Once the fleet is closed,
   * no router starts.
   */
  apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    return this.#mutex.run(() => this.#apply(wish, signal));
  }

  /**
   * Sets the lifecycle state of a router, stored before it applies. Throws a `StoreError`, with nothing changed, if it
   * cannot be stored. `configured`: nothing changed, because the configuration sets a state.
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

  /** Compares the wanted set with the routers that run, and changes nothing. */
  async compare(wish: Pick<FleetWish, 'routers' | 'common'>): Promise<FleetDifference> {
    const { wanted, commonHash } = await readWish(wish);
    const removed = [...this.#members.keys()].filter((name) => !wanted.has(name));
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
    }
    return { added, changed, removed, reconnected };
  }

  async #apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    this.#create = wish.create;
    this.#firmwareVersions = wish.firmwareVersions ?? [];
    const { wanted, commonHash } = await readWish(wish);
    const added = [...wanted.values()].filter(({ settings: { name } }) => !this.#members.has(name));
    // Concurrent: a router that does not answer its logout delays no other.
    const changes: Promise<void>[] = [];
    let changed = 0;
    let removed = 0;
    await forEachYielding([...this.#members], ([name, { agent, hash, commonHash: common }]) => {
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
        agent.recorder.record({ type: 'firmware-listed', versions: this.#firmwareVersions });
        changes.push(this.#renewState(agent, signal));
      }
    });
    changes.push(this.#start(added, commonHash));
    await Promise.all(changes);
    this.#awaitEnds();
    return { added: added.length, changed, removed };
  }

  async #start(added: readonly Wanted[], commonHash: string): Promise<void> {
    const unopened = await this.#open(added.map(({ settings: { name } }) => name));
    await forEachYielding(added, ({ settings, hash }) => {
      // A closed fleet closes no more routers.
      if (!unopened.has(settings.name) && !this.#isClosed) this.#add(settings, { hash, commonHash });
    });
  }

  /**
   * Ends the agent of a router before it starts another one with new settings: tokens are used once, and a log has one
   * position. Meanwhile the router is listed and its last values are served.
   */
  async #restart(agent: RouterAgent, settings: RouterSettings, hashes: Hashes, signal: AbortSignal): Promise<void> {
    const { name } = settings;
    await this.#end(agent, signal);
    const unopened = await this.#open([name]);
    await this.#steps.next();
    // Labels are part of every series, so counters with other labels are other series.
    if (isDeepStrictEqual(settings.labels, agent.settings.labels)) this.#options.exposition.forgetValues(name);
    else this.#options.exposition.forget(name);
    if (unopened.has(name) || this.#isClosed) this.#members.delete(name);
    else this.#add(settings, hashes);
  }

  /** Returns the routers that cannot run, because their state could not be loaded. */
  async #open(names: readonly string[]): Promise<ReadonlySet<string>> {
    const { store, logger } = this.#options;
    const failed = new Set<string>();
    if (!store) return failed;
    let failure: unknown;
    const left = names.values();
    const open = async (name: string) => {
      if (this.#isClosed) return;
      try {
        await store.openRouter(name);
      } catch (cause) {
        if (!(cause instanceof StoreError)) throw cause;
        failed.add(name);
        failure = cause;
      }
    };
    await Promise.all(Array.from({ length: OPENED_MAX }, () => forEachYielding(left, open)));
    if (failed.size > 0) {
      const error = renderErrorChain(failure);
      logger.error('Routers do not run, because their state could not be read', { routers: failed.size, error });
    }
    return failed;
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#isClosed = true;
    this.#endTimer?.cancel();
    // Histories of ten thousand routers take more than a second.
    await Promise.all(this.routers.map((agent) => this.#steps.next().then(() => agent.close(signal))));
  }

  #add(settings: RouterSettings, { hash, commonHash }: Hashes): void {
    const { scheduler, exposition, lifecycle } = this.#options;
    const state = lifecycle.resolve(settings);
    const agent = this.#create?.(settings, state);
    if (!agent) return;
    this.#members.set(settings.name, { agent, hash, commonHash });
    for (const activity of agent.activities()) scheduler.add(activity);
    agent.start();
    agent.recorder.record({ type: 'firmware-listed', versions: this.#firmwareVersions });
    if (state.state === 'retired') exposition.forget(settings.name);
    const notice = isAsked(state) ? 'Router is in maintenance; it is polled as usual' : 'Router is not polled';
    if (state.state !== 'active') this.#logState(notice, settings.name, state);
  }

  /** A router that starts or stops being polled is restarted. */
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

  #awaitEnds(): void {
    this.#endTimer?.cancel();
    this.#endTimer = undefined;
    const { clock } = this.#options;
    let endMs = Infinity;
    for (const { agent } of this.#members.values()) endMs = Math.min(endMs, agent.lifecycle.untilMs ?? Infinity);
    if (this.#isClosed || endMs === Infinity) return;
    const waitMs = Math.min(Math.max(0, endMs - clock.now()), RECHECK_MS);
    this.#endTimer = clock.setTimer(waitMs, () => void this.#mutex.run(() => this.#endStates()));
  }

  async #endStates(): Promise<void> {
    const nowMs = this.#options.clock.now();
    await forEachYielding(this.routers, async (agent) => {
      if (!this.#isClosed && (agent.lifecycle.untilMs ?? Infinity) <= nowMs) await this.#renewState(agent);
    });
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
  const wanted = new Map<string, Wanted>();
  await forEachYielding(routers, (one) => wanted.set(one.name, { settings: one, hash: hashRouter(one) }));
  return { wanted, commonHash: JSON.stringify(common) };
}

function isSameState(a: RouterLifecycle, b: RouterLifecycle): boolean {
  return a.state === b.state && a.untilMs === b.untilMs && a.setBy === b.setBy;
}

export interface FleetChange {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Cached: routers with the same modules share one long list. */
const moduleHashes = new WeakMap<object, string>();

/** Without the lifecycle state: its change needs no restart. */
function hashRouter({ modules, ...rest }: RouterSettings): string {
  const moduleHash = moduleHashes.get(modules) ?? renderSettingsHash(modules);
  moduleHashes.set(modules, moduleHash);
  return renderSettingsHash([moduleHash, { ...rest, state: undefined, state_until: undefined }]);
}
