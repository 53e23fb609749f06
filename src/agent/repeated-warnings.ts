import type { Clock, Logger } from '../base/index.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Period {
  readonly end: () => void;
  readonly repeat: (fields: Fields) => void;
}

/**
 * Without it, a router whose logs all fail, or a sink that refuses everything, would write a line for each log or
 * record. Milliseconds.
 */
const PERIOD_MS = 60_000;
const COMPONENTS_MAX = 20;

/**
 * Limits warnings and errors about a router or sink to one line a minute for each message, reason and status resource.
 * The first one is written at once, those within the next minute at level debug, and the last of these at its end, with
 * their number as `times`, the sum of their `records`, and the logs concerned.
 */
export class RepeatedWarnings {
  /** The agent's own log, with this limit. */
  readonly logger: Logger;
  readonly #clock: Clock;
  /** By subject and message. */
  readonly #periods = new Map<string, Period>();

  constructor(logger: Logger, clock: Clock) {
    this.#clock = clock;
    const at =
      (level: 'warn' | 'error') =>
      (message: string, fields: Fields = {}) => {
        const { router, sink, reason, resource } = fields;
        const key = JSON.stringify([router, sink, reason, resource, message]);
        const known = this.#periods.get(key);
        if (known) {
          logger.debug(message, fields);
          known.repeat(fields);
          return;
        }
        logger[level](message, fields);
        if (router !== undefined || sink !== undefined)
          this.#begin(key, (repeated) => logger[level](message, repeated));
      };
    this.logger = { ...logger, warn: at('warn'), error: at('error') };
  }

  close(): void {
    for (const { end } of this.#periods.values()) end();
  }

  #begin(key: string, write: (repeated: Fields) => void): void {
    let [last, times, records]: [Fields, number, number] = [{}, 0, 0];
    const components = new Set<unknown>();
    const end = () => {
      timer.cancel();
      this.#periods.delete(key);
      if (times === 0) return;
      write({
        ...last,
        ...(last['records'] !== undefined && { records }),
        ...(components.size > 1 && { components: [...components].slice(0, COMPONENTS_MAX) }),
        times,
      });
      this.#begin(key, write);
    };
    const timer = this.#clock.setTimer(PERIOD_MS, end, false);
    const repeat = (fields: Fields) => {
      last = fields;
      times++;
      records += Number(fields['records'] ?? 0);
      if (fields['component'] !== undefined) components.add(fields['component']);
    };
    this.#periods.set(key, { end, repeat });
  }
}
