import type { RecordFlag } from '../../model/index.ts';
import { addToPace } from '../listing/link-rule.ts';
import type { LogFileDraft, StreamDraft } from '../position/position.ts';
import { type ClockJump, type ClockVerdict, LogClock, type SkewBounds } from '../time/log-clock.ts';
import { renderTimestamp, type Stamp, type StampContext, toSecond } from '../time/stamp.ts';
import type { Zone } from '../time/zone.ts';
import { type ParsedLine, parseLine, parseRest } from './parse-line.ts';

/** Context for the times of all lines of one reading. */
export interface TimeContext {
  readonly zone: Zone;
  /** The agent's clock when the download began. Milliseconds since the Unix epoch. */
  readonly observedMs: number;
  /** About when the file ends. Default: `observedMs`. */
  readonly endMs?: number | undefined;
  /** Start of the last look that read the log to its end; absent when there was none. */
  readonly notBeforeMs?: number | undefined;
  /** The agent's clock while lines arrive. Default: stands still at `observedMs`. */
  readonly now?: (() => number) | undefined;
  readonly skew?: SkewBounds | undefined;
}

/** A time as it is shown. */
interface ShownTime {
  readonly utcMs: number;
  readonly verdict: ClockVerdict;
  readonly flags: readonly RecordFlag[];
  readonly isFirstSecond: boolean;
}

/** The stamp that was read last. */
interface LastStamp {
  /** Empty where it must not be compared. */
  readonly text: string;
  readonly wall: Stamp | undefined;
  shown: ShownTime | undefined;
}

const NO_STAMP: LastStamp = { text: '', wall: undefined, shown: undefined };

/**
 * Times of the lines of one file, in their order: reads stamps, puts them on the world's clock, judges the router's clock,
 * and keeps in the positions of file and log what the next line needs.
 */
export class LineTimes {
  readonly #context: TimeContext;
  readonly #file: LogFileDraft;
  readonly #state: StreamDraft;
  readonly #clock: LogClock;
  /** Most lines have the stamp of the line before. */
  #last = NO_STAMP;

  constructor(context: TimeContext, file: LogFileDraft, state: StreamDraft) {
    this.#context = context;
    this.#file = file;
    this.#state = state;
    this.#clock = new LogClock(state.clock, !context.zone.isAssumed, context.skew);
  }

  /** Judges the clock from the last line of the file on: for a file that is read out of order. */
  beginAlone(): void {
    this.#clock.begin(this.#file.lastUtcMs, this.#context.observedMs);
  }

  get last(): Readonly<LastStamp> {
    return this.#last;
  }

  /** Takes a line apart; the time of the line before is taken over when it is written the same. */
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

  /** Notes the stamp of a line. */
  #keep(text: string, time: Stamp): void {
    if (time === this.#last.wall) return;
    // A fraction would have to be compared digit by digit to the end, and a priority says more than the time.
    const isCompared = !time.hasFraction && time.priority === undefined;
    this.#last = { text: isCompared ? text.slice(0, time.length) : '', wall: time, shown: undefined };
  }

  /** Notes how the stamp is written that {@link resolveOrdinary} took last. */
  keepText(text: string): void {
    this.#last = { ...this.#last, text };
  }

  /** Returns the UTC time of a stamp before its line is judged. Milliseconds. */
  toUtcMs(time: Stamp): number {
    return this.#place(time, this.#file.lastUtcMs).utcMs;
  }

  /** Puts a wall time on the world's clock, and judges it. `onJump` is called before the time is noted if the clock jumped. */
  resolve(time: Stamp, onJump: (jump: ClockJump, saneUtcMs: number | undefined) => void): ShownTime {
    const last = this.#last;
    if (last.shown && time === last.wall) {
      this.repeat();
      return last.shown;
    }
    const { utcMs, flags } = this.#toUtc(time);
    const { verdict, jump } = this.#clock.judge(utcMs, this.#lineWindow);
    if (jump) onJump(jump, verdict === 'sane' ? utcMs : undefined);
    const shown = this.#note(utcMs, verdict, flags);
    last.shown = shown;
    return shown;
  }

  /**
   * Does the same where nothing is remarkable: the clock is set and runs on, in an hour that there is once. `undefined`, with
   * nothing noted, where something is.
   */
  resolveOrdinary(time: Stamp): ShownTime | undefined {
    const { utcMs, flags } = this.#toUtc(time);
    const window = this.#lineWindow;
    if (flags.length > 0 || !this.#clock.isOrdinary(utcMs, window)) return undefined;
    const shown = this.#note(utcMs, this.#clock.judge(utcMs, window).verdict, flags);
    this.#last = { text: NO_STAMP.text, wall: time, shown };
    return shown;
  }

  /** Counts a line that has the time of the line before. */
  repeat(): void {
    this.#notePace(0);
  }

  /** Trusts a clock that fell back and that nothing has set since. False if it did not fall back. */
  trustClock(): boolean {
    if (this.#state.clock.unsyncedBelowMs === undefined) return false;
    this.#clock.trust();
    return true;
  }

  /** Returns the time of the line before, for a line without a stamp; `undefined` if there is none. */
  renderBefore(start: number): string | undefined {
    const { shownMs } = this.#file;
    if (shownMs === undefined) return undefined;
    return renderTimestamp(shownMs, shownMs % 1000 !== 0, start, this.#isFirstSecond(shownMs));
  }

  /** Returns the timestamp of a line; `undefined` while its clock is not set. */
  render({ verdict, utcMs, isFirstSecond }: ShownTime, hasFraction: boolean, start: number): string | undefined {
    if (verdict === 'unsynced') return undefined;
    return verdict === 'sane' ? renderTimestamp(utcMs, hasFraction, start, isFirstSecond) : this.renderObserved(start);
  }

  /** Returns the time of the download as a timestamp. In whole seconds, so that the offset in the file gives the order. */
  renderObserved(start: number): string {
    return renderTimestamp(this.#observedSecondMs, false, start, false);
  }

  /** Returns the timestamp of a line of an unset clock that was counted back to `utcMs`. */
  renderRemapped(utcMs: number, start: number): string {
    return renderTimestamp(toSecond(utcMs) * 1000, false, start, false);
  }

  /** Returns the timestamp of a line of a {@link trustClock trusted} clock. */
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

  /** Converts a time by its own offset, else by the zone of the router. */
  #place({ asUtcMs, offsetMs }: Stamp, lastUtcMs: number | undefined) {
    return offsetMs === undefined
      ? this.#context.zone.toUtc(asUtcMs, lastUtcMs)
      : { utcMs: asUtcMs - offsetMs, flags: [] };
  }

  /** Notes the time of a line in its file. */
  #note(utcMs: number, verdict: ClockVerdict, flags: readonly RecordFlag[]): ShownTime {
    const { lastUtcMs } = this.#file;
    this.#notePace(lastUtcMs === undefined ? undefined : utcMs - lastUtcMs);
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

  /** Counts a line that came so long after the one before it. A file that was begun uncounted stays so. */
  #notePace(sinceMs: number | undefined): void {
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
