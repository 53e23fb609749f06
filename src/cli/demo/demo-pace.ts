/** Intervals and load of a demo, by the number of its routers. */
interface DemoPace {
  /** Interval of polls. Seconds. */
  readonly intervalS: number;
  /** Limit of one request. Seconds. */
  readonly timeoutS: number;
  /** Limit of one poll. Seconds. */
  readonly deadlineS: number;
  /** Time for which the last values are served. Seconds. */
  readonly staleAfterS: number;
  /** Interval of readings of logs. Seconds. */
  readonly logIntervalS: number;
  /** Lines that one router writes per second. */
  readonly linesPerSecond: number;
  /** Modules that are read; `undefined` = the default set. */
  readonly modules: readonly string[] | undefined;
  /** Runs at a time. */
  readonly runsMax: number;
}

/** Polls per second of a demo, of routers that are read in whole and in part: one machine carries routers and agent. */
const POLLS_PER_SECOND_MAX = { whole: 5, part: 25 };
/** Larger fleets are read in part. */
const WHOLE_ROUTERS_MAX = 100;
/** Modules whose values the fleet page shows. */
const FLEET_MODULES = ['system', 'modem', 'wan'];
/** Routers that write logs, and whose logs are read, at most. */
export const LOGGED_ROUTERS_MAX = 100;
/** First polls of routers that share two cores are done a few at a time, or none is done in time. */
const RUNS_MAX = { whole: 8, part: 32 };
const INTERVAL_S_MIN = 2;
const DEADLINE_S_MAX = 45;
const TIMEOUT_S_MAX = 10;
/** Files that a router of a demo keeps last longer than this: nothing is lost by itself. Seconds. */
const LOG_INTERVAL_S_MAX = 30;
/** At most of these, files of a demo rotate every 10 s. Lines per second. */
const LINES_PER_ROUTER = { most: 9, least: 0.3 };
const LINES_PER_SECOND_MAX = 300;

/** Finds the pace of a demo: a few routers at short intervals, thousands at intervals that one machine carries. */
export function findDemoPace(routers: number): DemoPace {
  const extent = routers > WHOLE_ROUTERS_MAX ? 'part' : 'whole';
  const intervalS = Math.max(INTERVAL_S_MIN, Math.ceil(routers / POLLS_PER_SECOND_MAX[extent]));
  return {
    intervalS,
    timeoutS: Math.min(TIMEOUT_S_MAX, intervalS / 2),
    deadlineS: Math.min(DEADLINE_S_MAX, intervalS),
    staleAfterS: Math.max(30, 3 * intervalS),
    modules: extent === 'part' ? FLEET_MODULES : undefined,
    runsMax: RUNS_MAX[extent],
    logIntervalS: Math.min(LOG_INTERVAL_S_MAX, intervalS / 2),
    linesPerSecond: Math.min(LINES_PER_ROUTER.most, Math.max(LINES_PER_ROUTER.least, LINES_PER_SECOND_MAX / routers)),
  };
}
