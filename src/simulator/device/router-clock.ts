import type { Clock } from '../../base/index.ts';
import { SimulatorError } from '../simulator-error.ts';

/** The clock of one router: a wall time that may be wrong, a time zone, and the time since the last start. */
export class RouterClock {
  /** Clock for waits inside the router; durations do not depend on the wall time. */
  readonly clock: Clock;
  readonly #zoneFormat: Intl.DateTimeFormat;
  #offsetMs = 0;
  #startedMs: number;
  /** The last second rendered: most lines share it with the line before. */
  #rendered = { second: Number.NaN, text: '' };

  /** `uptimeMs` is how long the router has been running when the simulation begins. */
  constructor(clock: Clock, timezone: string, uptimeMs: number) {
    this.clock = clock;
    this.#startedMs = clock.monotonic() - uptimeMs;
    this.#zoneFormat = openZoneFormat(timezone);
  }

  /** Wall time of the router, in milliseconds since the Unix epoch. */
  now(): number {
    return this.clock.now() + this.#offsetMs;
  }

  /** Milliseconds since the last start. */
  uptimeMs(): number {
    return this.clock.monotonic() - this.#startedMs;
  }

  /** Sets wall time forward or back. */
  jump(offsetMs: number): void {
    this.#offsetMs += offsetMs;
  }

  /** Corrects the wall time, as a time server would. */
  synchronize(): void {
    this.#offsetMs = 0;
  }

  /** Sets wall time to a time of the router's zone, given as if it were UTC. */
  setLocal(wallMs: number): void {
    const shownMs = Date.parse(`${this.#renderLocal(this.now()).replace(' ', 'T')}Z`);
    this.jump(wallMs - shownMs);
    // The jump can cross a change of summer time, which moves the shown time once more.
    this.jump(wallMs - Date.parse(`${this.#renderLocal(this.now()).replace(' ', 'T')}Z`));
  }

  /** Starts a new uptime; the wall time continues. */
  restart(): void {
    this.#startedMs = this.clock.monotonic();
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

/** Cached: creating a format takes a third of a millisecond and tens of kilobytes, and routers share a zone. */
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
