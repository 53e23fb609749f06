import type { MatchTotals, MessageMatcher } from '../matching/line-matcher.ts';
import { renderUid } from '../position/identity.ts';
import type { LogFileDraft } from '../position/position.ts';
import type { LineTimes, ShownTime } from '../time/line-times.ts';
import type { LineRenderer, PlainLine, UsualLine } from './line-renderer.ts';
import { createPlainLine, type RawLine } from './line-splitter.ts';
import type { ParsedLine } from './parse-line.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { ScanBatch } from './scan-batch.ts';
import { STAMP_CHARS, UsualRun } from './usual-run.ts';

/** What usual lines need to become records. */
export interface UsualLinesOptions {
  /** The clock of the file, and the times of the lines before. */
  readonly times: LineTimes;
  /** The file that they are read from. */
  readonly file: LogFileDraft;
  /** Writes the records. */
  readonly renderer: LineRenderer;
  /** Beginning of the uids of the file's lines. */
  readonly uidPrefix: string;
  /** Redaction and log rules. */
  readonly matcher: MessageMatcher;
}

/** What records and matches of log rules are added to. */
interface LineOutput {
  readonly batch: ScanBatch;
  readonly matches: MatchTotals;
}

/** A usual line that waits for lines that continue it. */
export interface WaitingUsual {
  readonly line: RawLine;
  readonly parsed: Omit<ParsedLine, 'time'>;
  readonly usual: UsualLine;
  readonly shown: ShownTime;
}

/** A usual line that stands in a chunk, and waits for lines that continue it. */
interface WaitingPlain extends PlainLine {
  /** Its offset in the chunk. */
  readonly from: number;
  /** Its message, if something was removed from that. */
  readonly redacted: string | undefined;
}

/** Turns usual lines into records, many at a time. The last one waits until it is known that no line continues it. */
export class UsualLines {
  readonly #options: UsualLinesOptions;
  #waiting: WaitingUsual | undefined;

  constructor(options: UsualLinesOptions) {
    this.#options = options;
  }

  /** The line that waits. */
  get waiting(): WaitingUsual | undefined {
    return this.#waiting;
  }

  /** A line that waits from here on. None may wait already. */
  wait(line: WaitingUsual): void {
    this.#waiting = line;
  }

  /** Renders the line that waits: no line continues it. */
  flush(records: RecordBuffer): void {
    const line = this.release();
    if (line) this.#options.renderer.render(line.usual, line.shown, records);
  }

  /** Returns the line that waits, which does so no longer. */
  release(): WaitingUsual | undefined {
    const line = this.#waiting;
    this.#waiting = undefined;
    return line;
  }

  /**
   * Takes the lines of `bytes` from the one on that begins at `from` there and at `start` in the file. Returns where in the
   * bytes the first line begins that is left.
   */
  take(bytes: Buffer, from: number, start: number, output: LineOutput): number {
    const { times, renderer, matcher } = this.#options;
    const { text, wall, shown } = times.last;
    if (!UsualRun.mayBegin(bytes, from) || !wall || shown?.verdict !== 'sane' || !UsualRun.knows(text)) return from;
    const run = new UsualRun(bytes, text, wall.asUtcMs, renderer, matcher);
    return this.#takeRun(run, from, start, output);
  }

  /** Returns where the first line begins that was not taken. */
  #takeRun(run: UsualRun, from: number, start: number, { batch, matches }: LineOutput): number {
    const { bytes } = run;
    const { times, file, uidPrefix } = this.#options;
    const { wall, shown: firstShown } = times.last;
    if (!wall || !firstShown) return from;
    let shown = firstShown;
    let { asUtcMs } = wall;
    /** The line before, which is rendered when it is known that no line continues it. */
    let waiting: WaitingPlain | undefined;
    let waitingShown = shown;
    let at = from;
    while (run.find(at, start + at - from)) {
      if (run.asUtcMs === asUtcMs) times.repeat();
      else {
        const time = { asUtcMs: run.asUtcMs, hasFraction: false, length: STAMP_CHARS };
        const ordinary = times.resolveOrdinary(time);
        if (!ordinary) break;
        shown = ordinary;
        asUtcMs = run.asUtcMs;
      }
      if (waiting) this.#renderPlain(waiting, waitingShown, batch.records);
      else this.flush(batch.records);
      const { tag, redacted, messageFrom } = run;
      if (!tag) break;
      waiting = { bytes, from: at, start: run.start, tag, messageFrom, messageTo: run.to, redacted };
      waitingShown = shown;
      if (run.mayMatch) this.#searchPlain(waiting, matches);
      file.lastStart = run.start;
      batch.first ??= { uid: renderUid(uidPrefix, run.start), utcMs: shown.utcMs };
      batch.lines++;
      batch.bytes += run.to - at + 1;
      at = run.to + 1;
    }
    if (!waiting) return from;
    const line = createPlainLine(bytes, waiting.from, waiting.messageTo, waiting.start);
    const { redacted, tag: tagHead } = waiting;
    const { tag } = tagHead;
    const message = line.text.slice(waiting.messageFrom - waiting.from);
    const isPlain = redacted === undefined;
    times.keepText(line.text.slice(0, STAMP_CHARS));
    this.wait({
      line,
      parsed: { tag, severity: undefined, message },
      usual: { start: waiting.start, tag, severity: undefined, message: redacted ?? message, isPlain },
      shown,
    });
    return at;
  }

  #renderPlain(line: WaitingPlain, shown: ShownTime, records: RecordBuffer): void {
    const { renderer } = this.#options;
    const { start, tag, redacted: message } = line;
    if (message === undefined) renderer.renderBytes(line, shown, records);
    else renderer.render({ start, tag: tag.tag, severity: undefined, message, isPlain: false }, shown, records);
  }

  #searchPlain({ bytes, messageFrom, messageTo, redacted }: WaitingPlain, matches: MatchTotals): void {
    const { matcher } = this.#options;
    const message = redacted ?? bytes.toString('latin1', messageFrom, messageTo);
    if (redacted === undefined) matcher.noteText(message);
    matcher.search(message, matches);
  }
}
