import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, type Timer } from '../base/index.ts';

/** The process that the service manager watches; the agent, in {@link ServiceManagerOptions}. */
export interface WatchedAgent {
  /** Returns why the agent makes no progress, or `undefined` while it is well. */
  findStall(): string | undefined;
  summary(): { readonly routers: number; readonly routersUp: number };
}

/** Environment and tools of {@link openServiceManager}. */
interface ServiceManagerOptions {
  /** `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` of systemd, and `PATH`; see sd_notify(3). */
  readonly environment: NodeJS.ProcessEnv;
  /** Number of this process: a watchdog for another one is not ours. */
  readonly pid: number;
  /** Clock for the watchdog and time limits. */
  readonly clock: Clock;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Sends assignments such as `READY=1`. Default: the program `systemd-notify`, because Node.js has no UNIX datagrams. */
  readonly send?: (assignments: readonly string[], signal: AbortSignal) => Promise<unknown>;
}

/** Tells systemd how the agent is. None of these calls waits or throws. */
export interface ServiceManager {
  /** The agent has started, or has loaded its configuration again. From the first call on, the watchdog is fed while the agent is well. */
  ready(agent: WatchedAgent): void;
  /** The configuration is being loaded again; ends with {@link ready}. */
  reloading(): void;
  /** The agent is stopping. The watchdog is fed no more. */
  stopping(): void;
  /** Resolves when everything has been sent, or a time limit has passed. Never rejects. */
  close(): Promise<void>;
}

/** `systemd-notify` waits until systemd has read the message, which takes a moment on a busy machine. Milliseconds. */
const SEND_MS_MAX = 5000;
/** Longest wait for notifications in flight when the process ends: part of the agent's ten seconds. Milliseconds. */
const CLOSE_MS_MAX = 500;
/** Messages per time of the watchdog: one may be lost. */
const BEATS = 3;
const MICROSECONDS = 1000;

/** Opens the connection to systemd; without `NOTIFY_SOCKET`, all calls do nothing. */
export function openServiceManager(options: ServiceManagerOptions): ServiceManager {
  const { environment, clock, logger } = options;
  const { NOTIFY_SOCKET, PATH } = environment;
  if (!NOTIFY_SOCKET) return { ready() {}, reloading() {}, stopping() {}, close: async () => {} };
  // The program gets nothing else of the environment, which may hold passwords.
  const env = { NOTIFY_SOCKET, PATH };
  const run = promisify(execFile);
  const { send = (assignments, signal) => run('systemd-notify', assignments, { env, signal }) } = options;
  const beatMs = readWatchdogMs(options) / BEATS;
  let beat: Timer | undefined;
  let watched: WatchedAgent | undefined;
  let isStalled = false;
  let isFailing = false;
  let pending = 0;
  const mutex = new Mutex();

  /** One after another: READY=1 must not overtake RELOADING=1. */
  const tell = (...assignments: readonly string[]) => {
    pending++;
    void mutex.run(async () => {
      using deadline = openDeadline(clock, SEND_MS_MAX);
      try {
        await send(assignments, deadline.signal);
        isFailing = false;
      } catch (cause) {
        const hint = 'systemd-notify must be on PATH, and the unit needs NotifyAccess=all';
        if (!isFailing) logger.warn('Could not notify systemd', { assignments, error: renderErrorChain(cause), hint });
        isFailing = true;
      }
      pending--;
    });
  };

  const armBeat = () => {
    if (!Number.isFinite(beatMs)) return;
    beat?.cancel();
    beat = clock.setTimer(beatMs, () => {
      const stall = watched?.findStall();
      if (stall !== undefined && !isStalled) {
        logger.error('The agent is stalled, so that the watchdog of systemd will restart it', { reason: stall });
      }
      isStalled = stall !== undefined;
      // A message that hangs must not leave a queue of others behind it.
      if (watched && !isStalled && pending === 0) tell('WATCHDOG=1', renderStatus(watched));
      armBeat();
    });
  };

  return {
    ready(agent) {
      watched = agent;
      tell('READY=1', renderStatus(agent));
      armBeat();
    },
    reloading() {
      tell('RELOADING=1', 'STATUS=Loading the configuration');
    },
    stopping() {
      beat?.cancel();
      beat = undefined;
      tell('STOPPING=1', 'STATUS=Stopping');
    },
    async close() {
      beat?.cancel();
      using deadline = openDeadline(clock, CLOSE_MS_MAX);
      await mutex.run(async () => {}, deadline.signal).catch(() => {});
    },
  };
}

/** Returns the time of the watchdog in milliseconds; infinite without one for this process. */
function readWatchdogMs({ environment, pid }: ServiceManagerOptions): number {
  const { WATCHDOG_USEC, WATCHDOG_PID = String(pid) } = environment;
  const microseconds = Number(WATCHDOG_USEC);
  if (WATCHDOG_PID !== String(pid) || !Number.isSafeInteger(microseconds) || microseconds <= 0) return Infinity;
  return Math.max(1, microseconds / MICROSECONDS);
}

function renderStatus(agent: WatchedAgent): string {
  const { routers, routersUp } = agent.summary();
  return `STATUS=${routersUp} of ${routers} routers up`;
}
