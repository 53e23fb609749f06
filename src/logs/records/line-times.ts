import type { RecordFlag } from '../../model/index.ts';
import { addToPace } from '../listing/link-rule.ts';
import type { LogFileDraft, StreamDraft } from '../position/position.ts';
import { type ClockJump, type ClockVerdict, LogClock, type SkewBounds } from '../time/log-clock.ts';
import { renderTimestamp, type Stamp, type StampContext, toSecond } from '../time/stamp.ts';
import type { Zone } from '../time/zone.ts';
import { type ParsedLine, parseLine, parseRest } from './parse-line.ts';

/** Context for the times of one reading. */
export interface TimeContext {
  readonly zone: Zone;
  /** The agent's clock at the start of the download. Milliseconds since the Unix epoch. */
  readonly observedMs: number;
  /** Approximate end of the file. Default: `observedMs`. */
  readonly endMs?: number | undefined;
  /** Start of the last read to the end of the log; absent if there was none. */
  readonly notBeforeMs?: number | undefined;
  /** The agent's clock while lines arrive. Default: always `observedMs`. */
  readonly now?: (() => number) | undefined;
  readonly skew?: SkewBounds | undefined;
}

interface ShownTime {
  readonly utcMs: number;
  readonly verdict: ClockVerdict;
  readonly flags: readonly RecordFlag[];
  readonly isFirstSecond: boolean;
}

interface LastStamp {
  /** Empty if it must not be compared. */
  readonly text: string;
  readonly wall: Stamp | undefined;
  shown: ShownTime | undefined;
}

const NO_STAMP: LastStamp = { text: '', wall: undefined, shown: undefined };

/**
 * Times of the lines of one file, in order: parses stamps, converts them to UTC, judges the router's clock, and updates
 * the state that the next line needs.
 */
export class LineTimes {
  readonly #context: TimeContext;
  readonly #file: LogFileDraft;
  readonly #state: StreamDraft;
  readonly #clock: LogClock;
  /** Most lines have the stamp of the previous line. */
  #last = NO_STAMP;

  constructor(context: TimeContext, file: LogFileDraft, state: StreamDraft) {
    this.#context = context;
    this.#file = file;
    this.#state = state;
    this.#clock = new LogClock(state.clock, !context.zone.isAssumed, context.skew);
  }

  /** Judges the clock from the last line of the file on, for a file read out of order. */
  beginAlone(): void {
    this.#clock.begin(this.#file.lastUtcMs, this.#context.observedMs);
  }

  get last(): Readonly<LastStamp> {
    return this.#last;
  }

  parse(text: string): ParsedLine {
    const { text: lastText, wall } = this.#last;
    if (lastText !== '' && text.startsWith(lastText) && text.startsWith(' [', lastText.length)) {
      const rest = parseRest(text, lastText.length);
      if (rest) return { time: wall, ...rest };
    }
    const parsed = parseLine(text, this.#stampContext);
    if (parsed.time) this.#keep(text, parsed.time);
    return parsed;
  }

  #keep(text: string, time: Stamp): void {
    if (time === this.#last.wall) return;
    // A fraction would have to be compared to its end, and a priority is more than a time.
    const isCompared = !time.hasFraction && time.priority === undefined;
    this.#last = { text: isCompared ? text.slice(0, time.length) : '', wall: time, shown: undefined };
  }

  /** Sets the text of the stamp last accepted by {@link resolveOrdinary}. */
  keepText(text: string): void {
    this.#last = { ...this.#last, text };
  }

  toUtcMs(time: Stamp): number {
    return this.#place(time, this.#file.lastUtcMs).utcMs;
  }

  /** Converts and judges a time. `onJump` is called before the time is recorded. */
  resolve(time: Stamp, onJump: (jump: ClockJump, saneUtcMs: number | undefined) => void): ShownTime {
    const last = this.#last;
    if (last.shown && time === last.wall) {
      this.repeat();
      return last.shown;
    }
    const { utcMs, flags } = this.#toUtc(time);
    const { verdict, jump } = this.#clock.judge(utcMs, this.#lineWindow);
    if (jump) onJump(jump, verdict === 'sane' ? utcMs : undefined);
    const shown = this.#record(utcMs, verdict, flags);
    last.shown = shown;
    return shown;
  }

  /** Fast path of {@link resolve} without a jump or ambiguity. Otherwise records nothing. */
  resolveOrdinary(time: Stamp): ShownTime | undefined {
    const { utcMs, flags } = this.#toUtc(time);
    const window = this.#lineWindow;
    if (flags.length > 0 || !this.#clock.isOrdinary(utcMs, window)) return undefined;
    const shown = this.#record(utcMs, this.#clock.judge(utcMs, window).verdict, flags);
    this.#last = { text: NO_STAMP.text, wall: time, shown };
    return shown;
  }

  /** Counts a line with the time of the previous line. */
  repeat(): void {
    this.#recordPace(0);
  }

  trustClock(): boolean {
    if (this.#state.clock.unsyncedBelowMs === undefined) return false;
    this.#clock.trust();
    return true;
  }

  /** Renders the time of the previous line for a line without a stamp; `undefined` if there is none. */
  renderBefore(start: number): string | undefined {
    const { shownMs } = this.#file;
    if (shownMs === undefined) return undefined;
    return renderTimestamp(shownMs, shownMs % 1000 !== 0, start, this.#isFirstSecond(shownMs));
  }

  render({ verdict, utcMs, isFirstSecond }: ShownTime, hasFraction: boolean, start: number): string | undefined {
    if (verdict === 'unsynced') return undefined;
    return verdict === 'sane' ? renderTimestamp(utcMs, hasFraction, start, isFirstSecond) : this.renderObserved(start);
  }

  /** Renders the download time in whole seconds, so that the offset gives the order. */
  renderObserved(start: number): string {
    return renderTimestamp(this.#observedSecondMs, false, start, false);
  }

  /** Renders a time of an unset clock, counted back to `utcMs`. */
  renderRemapped(utcMs: number, start: number): string {
    return renderTimestamp(toSecond(utcMs) * 1000, false, start, false);
  }

  /** Renders a time of a {@link trustClock trusted} clock. */
  renderTrusted(utcMs: number, start: number): string {
    return renderTimestamp(utcMs, false, start, this.#isFirstSecond(utcMs));
  }

  get #stampContext(): StampContext {
    return {
      order: this.#state.order ?? 'dmy',
      lineBeforeMs: this.#last.wall?.asUtcMs ?? this.#file.lastUtcMs,
      endMs: this.#context.endMs ?? this.#context.observedMs,
    };
  }

  #toUtc(time: Stamp) {
    return this.#place(time, this.#state.clock.lastUtcMs ?? this.#file.lastUtcMs);
  }

  #place({ asUtcMs, offsetMs }: Stamp, lastUtcMs: number | undefined) {
    return offsetMs === undefined
      ? this.#context.zone.toUtc(asUtcMs, lastUtcMs)
      : { utcMs: asUtcMs - offsetMs, flags: [] };
  }

  #record(utcMs: number, verdict: ClockVerdict, flags: readonly RecordFlag[]): ShownTime {
    const { lastUtcMs } = this.#file;
    this.#recordPace(lastUtcMs === undefined ? undefined : utcMs - lastUtcMs);
    this.#file.firstUtcMs ??= utcMs;
    this.#file.lastUtcMs = utcMs;
    const isSane = verdict === 'sane';
    this.#file.shownMs = isSane ? utcMs : this.#observedSecondMs;
    return {
      utcMs,
      verdict,
      flags: verdict === 'unsynced' ? ['unsynced'] : verdict === 'ahead' ? ['clock_uncertain'] : flags,
      isFirstSecond: isSane && this.#isFirstSecond(utcMs),
    };
  }

  get #lineWindow() {
    const { notBeforeMs, observedMs, now } = this.#context;
    return { notBeforeMs: this.#state.isBuffered ? undefined : notBeforeMs, notAfterMs: now?.() ?? observedMs };
  }

  /** A file that was begun without counting stays uncounted. */
  #recordPace(sinceMs: number | undefined): void {
    const { pace } = this.#file;
    if (pace || sinceMs === undefined) this.#file.pace = addToPace(pace, sinceMs ?? 0);
  }

  #isFirstSecond(utcMs: number): boolean {
    const { firstUtcMs } = this.#file;
    return firstUtcMs !== undefined && toSecond(utcMs) === toSecond(firstUtcMs);
  }

  get #observedSecondMs(): number {
    return toSecond(this.#context.observedMs) * 1000;
  }
}
