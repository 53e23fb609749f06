import { type Clock, untilAborted } from '../base/index.ts';
import type { Scheduler } from '../schedule/index.ts';
import type { Fleet } from './routers/fleet.ts';
import type { RouterAgent } from './routers/router-agent.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';

interface CycleOptions {
  readonly fleet: Pick<Fleet, 'routers'>;
  readonly scheduler: Pick<Scheduler, 'trigger'>;
  readonly sinks: Pick<SinkSupervisor, 'describe' | 'whenIdle'>;
  readonly clock: Clock;
}

/** The result of one cycle. */
export interface CycleResult {
  /** Number of polled routers: all but paused and retired ones. */
  readonly asked: number;
  readonly up: number;
  readonly logsFailed: number;
  /** Number of records that are not delivered to all of their sinks. */
  readonly recordsWaiting: number;
}

/** A long log yields repeatedly; the rest is left to the next cycle. */
const LOG_RUNS_MAX = 100;
/** Time limit of deliveries after the last reading. Milliseconds. */
const DELIVERY_MS_MAX = 60_000;
const DELIVERY_LOOK_MS = 100;

/**
 * Polls every router once, reads its logs to their end, and waits for the deliveries. Rejects with the reason of
 * `signal`.
 */
export async function runCycle(
  { fleet, scheduler, sinks, clock }: CycleOptions,
  signal: AbortSignal,
): Promise<CycleResult> {
  const outcomes = await untilAborted(Promise.all(fleet.routers.map((router) => askRouter(router, scheduler))), signal);
  const recordsWaiting = await awaitDeliveries(sinks, clock, signal);
  return {
    asked: outcomes.filter(({ isAsked }) => isAsked).length,
    up: outcomes.filter(({ isUp }) => isUp).length,
    logsFailed: outcomes.filter(({ hasLogs }) => !hasLogs).length,
    recordsWaiting,
  };
}

async function askRouter(router: RouterAgent, scheduler: CycleOptions['scheduler']) {
  const keys = new Set(router.activities().map(({ key }) => key));
  if (!keys.has(router.statusKey)) return { isAsked: false, isUp: false, hasLogs: true };
  await scheduler.trigger(router.statusKey);
  const isUp = router.recorder.state.reach === 'up';
  let hasLogs = true;
  let hasFaults = false;
  if (keys.has(router.logsKey)) {
    for (let runs = 0; runs < LOG_RUNS_MAX; runs++) {
      hasLogs = (await scheduler.trigger(router.logsKey)) === 'done' && !router.recorder.state.areLogsFailing;
      // A file that cannot be read does not stop the others.
      hasFaults ||= router.hasLogFaults;
      if (!hasLogs || !router.hasMoreLogs) break;
    }
  }
  return { isAsked: true, isUp, hasLogs: hasLogs && !hasFaults };
}

/** Returns the number of records that were not delivered in time. */
async function awaitDeliveries(sinks: CycleOptions['sinks'], clock: Clock, signal: AbortSignal): Promise<number> {
  const endMs = clock.monotonic() + DELIVERY_MS_MAX;
  for (;;) {
    await untilAborted(sinks.whenIdle(), signal);
    const waiting = sinks.describe().reduce((sum, { recordsWaiting }) => sum + recordsWaiting, 0);
    if (waiting === 0 || clock.monotonic() >= endMs) return waiting;
    await clock.sleep(DELIVERY_LOOK_MS, signal);
  }
}
