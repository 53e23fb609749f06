import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, type Timer } from '../../base/index.ts';

export interface WatchedAgent {
  /** Returns why the agent makes no progress; `undefined` while it does. */
  findStall(): string | undefined;
  summary(): { readonly routers: number; readonly states: { readonly up: number } };
}

interface ServiceManagerOptions {
  /** `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID` and `PATH`; see sd_notify(3). */
  readonly environment: NodeJS.ProcessEnv;
  /** Of this process; `WATCHDOG_PID` may name another. */
  readonly pid: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends assignments such as `READY=1`. Default: `systemd-notify`, because Node.js has no UNIX datagrams. */
  readonly send?: (assignments: readonly string[], signal: AbortSignal) => Promise<unknown>;
}

/** Notifies systemd. No call waits or throws. */
export interface ServiceManager {
  /** After the start and each reload. From the first call on, the watchdog is served while the agent makes progress. */
  ready(agent: WatchedAgent): void;
  reloading(): void;
  /** Stops serving the watchdog. */
  stopping(): void;
  /** Resolves when everything was sent, or after a time limit. Never rejects. */
  close(): Promise<void>;
}

/** `systemd-notify` waits until systemd has read the message. */
const SEND_MS_MAX = 5000;
/** For notifications in flight at the end: part of the agent's 10 s. */
const CLOSE_MS_MAX = 500;
/** Messages per watchdog interval: one may be lost. */
const BEATS = 3;
const MICROSECONDS = 1000;

/** Without `NOTIFY_SOCKET`, all calls do nothing. */
export function openServiceManager(options: ServiceManagerOptions): ServiceManager {
  const { environment, clock, logger } = options;
  const { NOTIFY_SOCKET, PATH } = environment;
  if (!NOTIFY_SOCKET) return { ready() {}, reloading() {}, stopping() {}, close: async () => {} };
  // No other variables: they may hold passwords.
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

  /** Sequential: READY=1 must not overtake RELOADING=1. */
  const notify = (...assignments: readonly string[]) => {
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
        logger.error('The agent is stalled; the systemd watchdog will restart it', { reason: stall });
      }
      isStalled = stall !== undefined;
      // A message that hangs must not queue others.
      if (watched && !isStalled && pending === 0) notify('WATCHDOG=1', renderStatus(watched));
      armBeat();
    });
  };

  return {
    ready(agent) {
      watched = agent;
      notify('READY=1', renderStatus(agent));
      armBeat();
    },
    reloading() {
      notify('RELOADING=1', 'STATUS=Loading the configuration');
    },
    stopping() {
      beat?.cancel();
      beat = undefined;
      notify('STOPPING=1', 'STATUS=Stopping');
    },
    async close() {
      beat?.cancel();
      using deadline = openDeadline(clock, CLOSE_MS_MAX);
      await mutex.run(async () => {}, deadline.signal).catch(() => {});
    },
  };
}

/** Milliseconds; infinite without a watchdog for this process. */
function readWatchdogMs({ environment, pid }: ServiceManagerOptions): number {
  const { WATCHDOG_USEC, WATCHDOG_PID = String(pid) } = environment;
  const microseconds = Number(WATCHDOG_USEC);
  if (WATCHDOG_PID !== String(pid) || !Number.isSafeInteger(microseconds) || microseconds <= 0) return Infinity;
  return Math.max(1, microseconds / MICROSECONDS);
}

function renderStatus(agent: WatchedAgent): string {
  const { routers, states } = agent.summary();
  return `STATUS=${states.up} of ${routers} routers up`;
}
