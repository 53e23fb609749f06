import { setImmediate } from 'node:timers/promises';
import { type Clock, sleepOn, type Timer } from '../../base/index.ts';
import { SimulatorError } from '../simulator-error.ts';

/** A clock that follows another clock and can be moved ahead of it. */
export interface AdvanceableClock extends Clock {
  /** Moves both times forward by `durationMs`. Timers that fall due in between fire in order, including those set by other timers. */
  advance(durationMs: number): Promise<void>;
}

interface Waiting {
  readonly dueMs: number;
  readonly fire: () => void;
  timer: Timer;
}

/** Creates a clock that shows the same time as `clock` until it is advanced. */
export function createAdvanceableClock(clock: Clock): AdvanceableClock {
  let aheadMs = 0;
  const waiting = new Set<Waiting>();
  const monotonic = () => clock.monotonic() + aheadMs;
  const finish = (entry: Waiting) => {
    waiting.delete(entry);
    entry.timer.cancel();
    entry.fire();
  };
  const arm = (entry: Omit<Waiting, 'timer'>) =>
    clock.setTimer(entry.dueMs - monotonic(), () => finish(entry as Waiting));

  const ahead: AdvanceableClock = {
    now: () => clock.now() + aheadMs,
    monotonic,
    setTimer(delayMs, fire) {
      const entry: Waiting = { dueMs: monotonic() + Math.max(0, delayMs), fire, timer: { cancel: () => {} } };
      entry.timer = arm(entry);
      waiting.add(entry);
      return {
        cancel() {
          waiting.delete(entry);
          entry.timer.cancel();
        },
      };
    },
    sleep: (delayMs, signal) => sleepOn(ahead, delayMs, signal),
    async advance(durationMs) {
      const untilMs = monotonic() + durationMs;
      for (let next = findNext(waiting, untilMs); next; next = findNext(waiting, untilMs)) {
        aheadMs += Math.max(0, next.dueMs - monotonic());
        finish(next);
        // The code after the timer can set its next timer in one iteration of the event loop.
        await setImmediate();
      }
      aheadMs += Math.max(0, untilMs - monotonic());
      for (const entry of waiting) {
        entry.timer.cancel();
        entry.timer = arm(entry);
      }
    },
  };
  return ahead;
}

function findNext(waiting: ReadonlySet<Waiting>, untilMs: number): Waiting | undefined {
  let next: Waiting | undefined;
  for (const entry of waiting) if (entry.dueMs <= untilMs && (!next || entry.dueMs < next.dueMs)) next = entry;
  return next;
}

/** Uptime of a router at the restart before the last one. */
const EARLIER_MS = 20 * 86_400_000;

/** The clock of one router: a wall time that may be wrong, a time zone, and the time since the last start. */
export class RouterClock {
  /** Clock for waits inside the router; durations do not depend on the wall time. */
  readonly clock: Clock;
  readonly #zoneFormat: Intl.DateTimeFormat;
  #offsetMs = 0;
  #startedMs: number;
  #agoMs = 0;
  /** The last second rendered: most lines share it with the line before. */
  #rendered = { second: Number.NaN, text: '' };

  /** `uptimeMs`: how long the router has been running when the simulation begins. */
  constructor(clock: Clock, timezone: string, uptimeMs: number) {
    this.clock = clock;
    this.#startedMs = clock.monotonic() - uptimeMs;
    this.#zoneFormat = openZoneFormat(timezone);
  }

  /** Returns the wall time of the router, in milliseconds since the Unix epoch. */
  now(): number {
    return this.clock.now() + this.#offsetMs - this.#agoMs;
  }

  /** Returns the milliseconds since the last start. */
  uptimeMs(): number {
    const uptimeMs = this.clock.monotonic() - this.#agoMs - this.#startedMs;
    // Before its last start it had been running for a while.
    return uptimeMs < 0 ? uptimeMs + EARLIER_MS : uptimeMs;
  }

  /** Calls `read` at the time `agoMs` before now. */
  lookBack<T>(agoMs: number, read: () => T): T {
    this.#agoMs = agoMs;
    try {
      return read();
    } finally {
      this.#agoMs = 0;
    }
  }

  /** Sets the wall time forward or back. */
  jump(offsetMs: number): void {
    this.#offsetMs += offsetMs;
  }

  /** Corrects the wall time, like a time server. */
  synchronize(): void {
    this.#offsetMs = 0;
  }

  /** Sets the wall time to a time of the router's zone, given as if it were UTC. */
  setLocal(wallMs: number): void {
    const shownMs = Date.parse(`${this.#renderLocal(this.now()).replace(' ', 'T')}Z`);
    this.jump(wallMs - shownMs);
    // The jump can cross a change of summer time, which moves the shown time once more.
    this.jump(wallMs - Date.parse(`${this.#renderLocal(this.now()).replace(' ', 'T')}Z`));
  }

  /** Starts a new uptime, or did so `agoMs` ago; the wall time continues. */
  restart(agoMs = 0): void {
    this.#startedMs = this.clock.monotonic() - agoMs;
  }

  /** `YYYY-MM-DD hh:mm:ss` in the router's zone: the stamp of a log line. */
  localStamp(): string {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.#rendered.second) this.#rendered = { second, text: this.#renderLocal(second * 1000) };
    return this.#rendered.text;
  }

  /** `YYYY-MM-DD-hh:mm:ss` in UTC: the stamp in the name of a rotated file. */
  fileStamp(): string {
    return new Date(this.now()).toISOString().slice(0, 19).replace('T', '-');
  }

  /** Wall time, or a later one, as an HTTP date. */
  httpDate(laterMs = 0): string {
    return new Date(this.now() + laterMs).toUTCString();
  }

  #renderLocal(timeMs: number): string {
    const parts = Object.fromEntries(this.#zoneFormat.formatToParts(timeMs).map(({ type, value }) => [type, value]));
    return `${parts['year']}-${parts['month']}-${parts['day']} ${parts['hour']}:${parts['minute']}:${parts['second']}`;
  }
}

/** Creating a format takes a third of a millisecond and tens of kilobytes, and routers share a zone. */
const zoneFormats = new Map<string, Intl.DateTimeFormat>();

function openZoneFormat(timeZone: string): Intl.DateTimeFormat {
  const format = zoneFormats.get(timeZone) ?? createZoneFormat(timeZone);
  zoneFormats.set(timeZone, format);
  return format;
}

function createZoneFormat(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
    });
  } catch (cause) {
    throw new SimulatorError('bad-option', `There is no time zone named ${JSON.stringify(timeZone)}`, { cause });
  }
}
