import type { Clock, Logger, Timer } from '../../base/index.ts';

/** Clock and log of a {@link RefusalLog}. */
export interface RefusalLogOptions {
  /** Clock for the period of a line. */
  readonly clock: Clock;
  /** The agent's own log. */
  readonly logger: Logger;
}

/** Effects of refusals, the most important first, with the lines that report them. */
const KINDS = {
  letters: { field: 'records', level: 'warn', message: 'A sink refused records for good; they are dead letters' },
  rejected: { field: 'rejected', level: 'error', message: 'A sink rejected records and does not say which' },
  dropped: {
    field: 'dropped',
    level: 'error',
    message: 'Dead letters were dropped, because they were too old or too many',
  },
  repeats: {
    field: 'repeats',
    level: 'warn',
    message: 'A sink refused records that went to it again; it has taken them before',
  },
  splits: { field: 'splits', level: 'info', message: 'A sink refused a batch, which goes on in halves' },
} as const;

/** Effect of a refusal: dead letters, unidentified records, dropped letters, refused repeats, halved batches. */
export type RefusalKind = keyof typeof KINDS;

interface Period {
  readonly counts: Map<RefusalKind, number>;
  reason: string | undefined;
  isWritten: boolean;
  timer: Timer;
}

const LEVELS = ['error', 'warn', 'info'] as const;
/** A sink that refuses everything would otherwise write a line for every record. Milliseconds. */
const PERIOD_MS = 60_000;

/**
 * Writes the refusals of sinks to the agent's log: the first at once, and what follows as one line a minute and sink with
 * the sums since the line before.
 */
export class RefusalLog {
  readonly #options: RefusalLogOptions;
  readonly #periods = new Map<string, Period>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** Adds refusals of a sink. `reason`: the text of the sink; the last one of a period is written. */
  add(sink: string, kind: RefusalKind, records: number, reason?: string): void {
    const period = this.#periods.get(sink) ?? this.#begin(sink);
    period.counts.set(kind, (period.counts.get(kind) ?? 0) + records);
    period.reason = reason ?? period.reason;
    // The result of the halves follows soon, and says more.
    if (!period.isWritten && kind !== 'splits') this.#write(sink, period);
  }

  /** Writes what is not written yet of a sink that is removed. */
  end(sink: string): void {
    const period = this.#periods.get(sink);
    if (!period) return;
    period.timer.cancel();
    this.#periods.delete(sink);
    this.#write(sink, period);
  }

  /** Writes what is not written yet. */
  close(): void {
    for (const sink of [...this.#periods.keys()]) this.end(sink);
  }

  #begin(sink: string): Period {
    const period = { counts: new Map(), reason: undefined, isWritten: false, timer: this.#startTimer(sink) };
    this.#periods.set(sink, period);
    return period;
  }

  #startTimer(sink: string): Timer {
    return this.#options.clock.setTimer(PERIOD_MS, () => {
      const period = this.#periods.get(sink);
      if (!period) return;
      if (period.counts.size === 0) {
        this.#periods.delete(sink);
        return;
      }
      this.#write(sink, period);
      period.timer = this.#startTimer(sink);
    });
  }

  #write(sink: string, period: Period): void {
    const kinds = Object.entries(KINDS).filter(([kind]) => period.counts.has(kind as RefusalKind));
    const [first] = kinds;
    if (!first) return;
    const counts = kinds.map(([kind, { field }]) => [field, period.counts.get(kind as RefusalKind)]);
    const level = LEVELS.find((one) => kinds.some(([, kind]) => kind.level === one)) ?? 'info';
    const { reason } = period;
    this.#options.logger[level](first[1].message, {
      sink,
      ...Object.fromEntries(counts),
      ...(reason !== undefined && { reason }),
    });
    period.counts.clear();
    period.reason = undefined;
    period.isWritten = true;
  }
}
