import type { BlockLost } from '../../bzip2/index.ts';
import type { RecordFlag, RouterIdentity } from '../../model/index.ts';
import type { LineEvent } from '../contracts.ts';
import { type Gap, type GapEdge, renderClockJump, renderGap, renderRepeat } from '../event-records.ts';
import { addToPace } from '../evidence/link-rule.ts';
import { LineMatcher, MatchTotals, type MessageMatcher } from '../matching/line-matcher.ts';
import { createUidPrefix, renderRecoveredUid, renderUid } from '../position/identity.ts';
import {
  copyStreamState,
  createStreamState,
  type LogFileDraft,
  type RecoveredBlock,
  type StreamDraft,
  type StreamState,
  toLastEdge,
} from '../position/position.ts';
import { type ClockVerdict, type LineWindow, LogClock, type SkewBounds } from '../time/log-clock.ts';
import {
  type DateOrder,
  isLikeStamp,
  parseStamp,
  renderTimestamp,
  type Stamp,
  type StampContext,
  toSecond,
  type WallTime,
} from '../time/stamp.ts';
import type { UtcTime, Zone } from '../time/zone.ts';
import {
  createFrame,
  type Entry,
  fromHeldEntry,
  joinLine,
  type RecordFrame,
  renderEntry,
  toHeldEntry,
} from './entry.ts';
import { mayBeGlued, splitGlued } from './glued.ts';
import { LineRenderer, type PlainLine, type UsualLine } from './line-renderer.ts';
import { createPlainLine, type RawLine } from './line-splitter.ts';
import { isOwnRequest } from './own-request.ts';
import { type ParsedLine, parseLine, parseRepeatNotice, parseRest } from './parse-line.ts';
import { RecordBuffer } from './record-buffer.ts';
import { isScrambled } from './scrambled.ts';
import { STAMP_CHARS, UsualRun } from './usual-run.ts';

/** What all records of one reading of one file share. */
export interface RecordContext {
  readonly router: RouterIdentity;
  readonly component: string;
  readonly zone: Zone;
  /** The agent's clock when the download began. Milliseconds since the Unix epoch. */
  readonly observedMs: number;
  /** As the router lists it. */
  readonly file: string;
  readonly flags: readonly RecordFlag[];
  /** What came before in the order of the log; absent for a file that is read out of order. */
  readonly stream?: StreamState | undefined;
  /** When the last look began that read the log to its end; absent when there was none. */
  readonly notBeforeMs?: number | undefined;
  /** The agent's clock while lines arrive. Default: stands still at `observedMs`. */
  readonly now?: (() => number) | undefined;
  readonly skew?: SkewBounds | undefined;
  /** The order of day and month where nothing else says it. Default: day first. */
  readonly order?: DateOrder | undefined;
  /** Lines from before this are passed over. */
  readonly skipBeforeUtcMs?: number | undefined;
  /** The line behind this file, where it was read before. */
  readonly behind?: GapEdge | undefined;
  /** Redaction and log rules. Default: none. */
  readonly matcher?: MessageMatcher | undefined;
}

/** Lines read since the last batch, as records. */
export interface ScanBatch {
  readonly records: RecordBuffer;
  /** Lines of the log in `records`; the rest are events. */
  lines: number;
  /** Bytes of these lines, with their line ends. */
  bytes: number;
  unparsed: number;
  /** Lines that tell of requests of this program. */
  own: number;
  /** Empty lines, which give no records. */
  empty: number;
  nulBytes: number;
  /** Lines that were passed over because they are older than what is wanted. */
  skipped: number;
  skippedBytes: number;
  /** The first line that became a record, even if that is kept back. */
  first: GapEdge | undefined;
  /** What damage took; the records of these gaps are among `records`. */
  readonly gaps: Gap[];
  /** What is to be reported once the records are safe. */
  readonly events: LineEvent[];
}

/** A batch without anything in it. */
export function createBatch(): ScanBatch {
  return {
    records: new RecordBuffer(),
    lines: 0,
    bytes: 0,
    unparsed: 0,
    own: 0,
    empty: 0,
    nulBytes: 0,
    skipped: 0,
    skippedBytes: 0,
    first: undefined,
    gaps: [],
    events: [],
  };
}

/** How a reading ends for now: `more` follows at once, the file is `open` to new lines, or it is `closed`. */
export type ReadingEnd = 'more' | 'open' | 'closed';

/** Lines that wait for the router's clock to be set. */
const UNSYNCED_LINES_MAX = 1000;
const NO_FLAGS: readonly RecordFlag[] = [];
const NO_QUIRKS: Quirks = { needsOriginal: false, details: undefined };
const NO_STAMP = { text: '', wall: undefined, shown: undefined };
const CARRIAGE_RETURN = 0x0d;

/** An entry that is not rendered yet. */
interface Waiting {
  readonly entry: Entry;
  /** Of a clock that was not set; its time is still to be found. */
  unsyncedUtcMs: number | undefined;
}

/**
 * Turns raw lines of one file into rendered records, in order, and keeps what each line needs from the ones before. The
 * last line waits for lines that continue it, and lines from before the clock was set for the first one after.
 */
export class RecordBuilder {
  readonly #context: RecordContext;
  readonly #file: LogFileDraft;
  readonly #uidPrefix: string;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #clock: LogClock;
  readonly #frame: RecordFrame;
  readonly #state: StreamDraft;
  readonly #renderer: LineRenderer;
  #waiting: Waiting[] = [];
  /** The last line, if it is a usual one: it is rendered when it is known that no line continues it. Nothing else waits then. */
  #usual: WaitingUsual | undefined;
  /** UTC of the newest of them that is {@link Waiting.unsyncedUtcMs unsynced}, as the router's clock had it. */
  #newestUnsyncedMs: number | undefined;
  /** Where in `#waiting` the first of them stands. */
  #unsyncedFrom = 0;
  #batch = createBatch();
  /** Matches of the log rules in the lines of the batch. */
  #matches = new MatchTotals();
  /** The stamp that was read last: most lines have that of the line before. */
  #last: { readonly text: string; readonly wall: Stamp | undefined; shown: Shown | undefined } = NO_STAMP;
  #isSkipping: boolean;
  /** Whether the next line may be half of one. */
  #isHalf = false;
  /** The block behind the last damage; uids count from there. */
  #recovered: RecoveredBlock | undefined;
  /** Gaps of damage behind which no line was read yet. */
  #damage: Gap[] = [];

  constructor(context: RecordContext, file: LogFileDraft) {
    this.#context = context;
    this.#file = file;
    const { router, component } = context;
    this.#uidPrefix = createUidPrefix(router.name, component, file);
    this.#frame = createFrame(router.name, component, router.labels);
    this.#renderer = new LineRenderer({
      observedMs: context.observedMs,
      frame: this.#frame,
      file: context.file,
      uidPrefix: this.#uidPrefix,
      flags: context.flags,
    });
    this.#state = context.stream ? copyStreamState(context.stream) : createStreamState();
    this.#clock = new LogClock(this.#state.clock, !context.zone.isAssumed, context.skew);
    // The clock of a file that is read out of order is judged on its own.
    if (!context.stream) this.#clock.begin(file.lastUtcMs, context.observedMs);
    this.#isSkipping = context.skipBeforeUtcMs !== undefined && file.off === 0;
    this.#recovered = file.recovered;
    if (this.#state.held) {
      this.#waiting.push({ entry: fromHeldEntry(this.#state.held), unsyncedUtcMs: undefined });
    }
  }

  /** What the next reading of this log needs; belongs to what {@link take} gave last. */
  get stream(): StreamState {
    return copyStreamState(this.#state);
  }

  /** The order of day and month, as the beginning of the file shows it. */
  learnOrder(order: DateOrder): void {
    this.#state.order ??= order;
  }

  /** The file was seen to end within a line or a block. */
  noteBuffered(): void {
    this.#state.isBuffered = true;
  }

  /** Bytes of the lines that {@link take} would give. */
  get batchBytes(): number {
    return this.#batch.bytes;
  }

  /** The next line of the file. */
  push(raw: RawLine): void {
    this.#batch.nulBytes += raw.nulBytes;
    if (raw.length === 0) {
      this.#batch.empty++;
      return;
    }
    const { tornAt } = this.#file;
    if (!mayBeGlued(raw, tornAt)) this.#pushLine(raw, false, true);
    else for (const part of splitGlued(raw, tornAt)) this.#pushLine(part.line, part.isGlued, part.isTail);
  }

  /** The first half of a line whose rest is damaged. */
  pushHalf(raw: RawLine): void {
    this.#isHalf = true;
    this.push(raw);
  }

  /** Lines are missing here: nothing that follows continues what came before. */
  lose(lost: readonly BlockLost[]): void {
    this.#settle();
    this.#resolveUnsynced(undefined, 'more');
    this.#flush(this.#waiting.length);
    const { router, component, file } = this.#context;
    const from = toLastEdge(router.name, component, this.#file);
    for (const block of lost) {
      this.#damage.push(toDamageGap(block, file, from));
      this.#file.damageToldBit = block.endBit;
    }
  }

  /** From here on lines come from a block behind damage; the first one may be the second half of a line. */
  recover(recovered: RecoveredBlock): void {
    this.#settle();
    this.#resolveUnsynced(undefined, 'more');
    this.#flush(this.#waiting.length);
    this.#recovered = recovered;
    this.#isHalf = true;
  }

  /** Tells the gaps that `to` is the first line behind; nobody knows that line yet when it is `undefined`. */
  #tellDamage(to: GapEdge | undefined): void {
    for (const gap of this.#damage) {
      const told = { ...gap, to };
      this.#batch.records.push(renderGap(this.#context, told));
      this.#batch.gaps.push(told);
    }
    this.#damage = [];
  }

  /** A line begins a record: what is missing before it ends there. */
  #begin(start: number, uid: string, utcMs: number | undefined): void {
    const edge = { uid, utcMs };
    this.#file.lastStart = start;
    if (this.#recovered) this.#file.recovered = this.#recovered;
    if (this.#damage.length > 0) this.#tellDamage(edge);
    this.#batch.first ??= edge;
  }

  /** Takes the records of the lines so far. Between two readings the last one may be kept back in {@link stream}. */
  take(end: ReadingEnd): ScanBatch {
    // Out of order there is no later reading that would go on here.
    const isInOrder = this.#context.stream !== undefined;
    const isWhole = this.#damage.length === 0;
    const mayHold = isInOrder && isWhole && (end === 'more' || this.#state.joins);
    if (mayHold || !this.#usual) this.#settle();
    else {
      this.#state.lastUid = this.#uidAt(this.#usual.usual.start);
      this.#renderUsual();
    }
    this.#resolveUnsynced(undefined, end);
    const last = this.#waiting.at(-1);
    const holds = mayHold && last !== undefined;
    this.#flush(this.#waiting.length - (holds ? 1 : 0));
    this.#state.held = holds ? toHeldEntry(last.entry) : undefined;
    this.#tellDamage(end === 'closed' ? this.#context.behind : undefined);
    const batch = this.#batch;
    const { component } = this.#context;
    for (const match of this.#matches.list()) batch.events.push({ type: 'log-rule-matched', component, ...match });
    this.#batch = createBatch();
    this.#matches = new MatchTotals();
    return batch;
  }

  /**
   * Takes usual lines as they stand in `bytes`, from the one on that begins at `from` there and at `start` in the file. Returns
   * where in the bytes the first line begins that is left. Gives what {@link push} gives of the same lines: the way of nearly
   * all lines, and why reading is fast.
   */
  takeRun(bytes: Buffer, from: number, start: number): number {
    if (!UsualRun.mayBegin(bytes, from)) return from;
    const { text, wall, shown: firstShown } = this.#last;
    if (!wall || !firstShown || !UsualRun.knows(text) || this.#waiting.length > 0 || this.#file.tornAt.length > 0)
      return from;
    if (this.#isSkipping || this.#isHalf || this.#recovered || firstShown.verdict !== 'sane') return from;
    const matcher = this.#context.matcher ?? LineMatcher.none;
    const run = new UsualRun(bytes, text, wall.asUtcMs, this.#renderer, matcher);
    const { records } = this.#batch;
    let shown = firstShown;
    let asUtcMs = wall.asUtcMs;
    /** The line before, which is rendered when it is known that no line continues it. */
    let waiting: (PlainLine & { readonly from: number }) | undefined;
    let waitingShown = shown;
    let at = from;
    while (run.find(at, start + at - from)) {
      if (run.asUtcMs === asUtcMs) this.#notePace(0);
      else {
        const time = { asUtcMs: run.asUtcMs, hasFraction: false, length: STAMP_CHARS };
        const ordinary = this.#resolveOrdinary(time);
        if (!ordinary) break;
        shown = ordinary;
        asUtcMs = run.asUtcMs;
        this.#last = { text: NO_STAMP.text, wall: time, shown };
      }
      if (waiting) this.#renderer.renderBytes(waiting, waitingShown, records);
      else this.#renderUsual();
      if (!run.tag) break;
      waiting = { bytes, from: at, start: run.start, tag: run.tag, messageFrom: run.messageFrom, messageTo: run.to };
      waitingShown = shown;
      if (run.mayMatch) matcher.search(bytes.toString('latin1', run.messageFrom, run.to), this.#matches);
      this.#file.lastStart = run.start;
      this.#batch.first ??= { uid: this.#uidAt(run.start), utcMs: shown.utcMs };
      this.#batch.lines++;
      this.#batch.bytes += run.to - at + 1;
      at = run.to + 1;
    }
    if (!waiting) return from;
    const line = createPlainLine(bytes, waiting.from, waiting.messageTo, waiting.start);
    const { tag } = waiting.tag;
    const message = line.text.slice(waiting.messageFrom - waiting.from);
    this.#last = { text: line.text.slice(0, STAMP_CHARS), wall: this.#last.wall, shown };
    this.#usual = {
      line,
      parsed: { tag, severity: undefined, message },
      usual: { start: waiting.start, tag, severity: undefined, message, isPlain: true },
      shown,
    };
    return at;
  }

  /** Takes a line by the short way, if it is a usual one. */
  #pushUsual(line: RawLine, lineText: string): boolean {
    if (this.#isSkipping || this.#isHalf || this.#recovered || this.#newestUnsyncedMs !== undefined) return false;
    const text = lineText.endsWith('\r') ? lineText.slice(0, -1) : lineText;
    const last = this.#last;
    const isSame = last.text !== '' && text.startsWith(last.text);
    const time = isSame ? last.wall : parseStamp(text, this.#stampContext);
    if (!time || time.hasFraction) return false;
    const rest = parseRest(text, time.length);
    if (!rest) return false;
    if (!isSame) this.#last = { text: text.slice(0, time.length), wall: time, shown: undefined };
    const shown = this.#resolveTime(time, line.start, true);
    const { matcher } = this.#context;
    if (shown.verdict !== 'sane' || isOwnRequest(rest.message)) return false;
    const message = matcher ? matcher.redact(rest.message) : rest.message;
    const isPlain = line.isPlain === true && message === rest.message;
    const usual: UsualLine = { start: line.start, tag: rest.tag, severity: rest.severity, message, isPlain };
    if (this.#waiting.length > 0) this.#flush(this.#waiting.length);
    this.#renderUsual();
    this.#usual = { line, parsed: rest, usual, shown };
    matcher?.search(message, this.#matches);
    this.#file.lastStart = line.start;
    this.#batch.first ??= { uid: this.#uidAt(line.start), utcMs: shown.utcMs };
    this.#batch.lines++;
    this.#batch.bytes += line.length + 1;
    return true;
  }

  /** Renders the usual line that waits: no line continues it. */
  #renderUsual(): void {
    if (!this.#usual) return;
    const { usual, shown } = this.#usual;
    this.#usual = undefined;
    this.#renderer.render(usual, shown, this.#batch.records);
  }

  /** Turns the usual line that waits into a regular waiting entry: the next input may extend it or must follow it. */
  #settle(): void {
    if (!this.#usual) return;
    const { line, parsed, shown } = this.#usual;
    this.#usual = undefined;
    const timestamp = renderTimestamp(shown.utcMs, false, line.start, shown.isFirstSecond);
    const flags = [...this.#context.flags, ...shown.flags];
    const entry = this.#createEntry(line, { time: undefined, ...parsed }, flags, NO_QUIRKS, timestamp);
    entry.utcMs = shown.utcMs;
    this.#waiting.push({ entry, unsyncedUtcMs: undefined });
    this.#state.lastUid = entry.uid;
  }

  #pushLine(line: RawLine, isGlued: boolean, isTail: boolean): void {
    if (line.text !== undefined && !isGlued && this.#pushUsual(line, line.text)) return;
    this.#settle();
    const { bytes } = line;
    const isCr = bytes.length > 0 && bytes[bytes.length - 1] === CARRIAGE_RETURN;
    const body = isCr ? bytes.subarray(0, -1) : bytes;
    const text = line.isAscii ? body.toString('latin1') : this.#decoder.decode(body);
    const repeats = text.startsWith('    ') ? parseRepeatNotice(text) : undefined;
    if (repeats !== undefined) {
      this.#pushRepeat(line, text, repeats);
      return;
    }
    const parsed = this.#parse(text);
    if (parsed.time && this.#skips(parsed.time)) this.#isSkipping = true;
    else if (parsed.time) this.#isSkipping = false;
    if (this.#isSkipping) {
      this.#batch.skipped++;
      this.#batch.skippedBytes += line.length + 1;
      this.#file.lastStart = line.start;
      if (parsed.time) this.#resolveTime(parsed.time, line.start, false);
      return;
    }
    const flags: RecordFlag[] = [...this.#context.flags];
    if (isGlued) flags.push('glued');
    if (this.#recovered) flags.push('recovered');
    if (this.#isHalf) flags.push('partial');
    this.#isHalf = false;
    const quirks = this.#describeQuirks(line, body, text, flags);
    if (parsed.time) this.#pushStamped(line, parsed, flags, quirks);
    else this.#pushUnstamped(line, parsed, flags, quirks, isGlued && !isTail);
  }

  /** Marks what is unusual about the bytes of a line, and gives what has to go along with them. */
  #describeQuirks(line: RawLine, body: Buffer, text: string, flags: RecordFlag[]) {
    if (line.isAscii && line.nulBytes === 0 && line.sha256 === undefined) return NO_QUIRKS;
    const isLossy = !line.isAscii && text.includes('\uFFFD') && !Buffer.from(text, 'utf8').equals(body);
    if (line.sha256 !== undefined) flags.push('truncated');
    if (line.nulBytes > 0) flags.push('nul');
    if (isLossy) flags.push('lossy');
    if (!line.isAscii && isScrambled(body)) flags.push('device_scrambled');
    const details = {
      ...(line.sha256 !== undefined && { bytes: line.length, sha256: line.sha256 }),
      ...(line.nulBytes > 0 && { nul_bytes: line.nulBytes }),
    };
    const hasDetails = line.sha256 !== undefined || line.nulBytes > 0;
    return { needsOriginal: isLossy || line.nulBytes > 0, details: hasDetails ? details : undefined };
  }

  #pushStamped(line: RawLine, parsed: ParsedLine, flags: RecordFlag[], quirks: Quirks): void {
    const { time } = parsed;
    if (!time) return;
    const shown = this.#resolveTime(time, line.start, true);
    flags.push(...shown.flags);
    const isSane = shown.verdict === 'sane';
    if (isSane) this.#resolveUnsynced(shown.utcMs, 'more');
    else if (shown.verdict === 'ahead') this.#resolveUnsynced(undefined, 'more');
    if (isOwnRequest(parsed.message)) {
      flags.push('self');
      this.#batch.own++;
    }
    const timestamp =
      shown.verdict === 'unsynced'
        ? undefined
        : renderTimestamp(
            isSane ? shown.utcMs : this.#observedSecondMs,
            isSane && time.hasFraction,
            line.start,
            shown.isFirstSecond,
          );
    // A waiting line of a set clock is done: this one does not continue it.
    if (isSane || shown.verdict === 'ahead') this.#flush(this.#waiting.length);
    const entry = this.#createEntry(line, parsed, flags, quirks, timestamp);
    if (isSane) entry.utcMs = shown.utcMs;
    // The time in the text is not the one that is shown, so the text goes along.
    else entry.needsOriginal = true;
    this.#begin(line.start, entry.uid, entry.utcMs);
    const unsyncedUtcMs = shown.verdict === 'unsynced' ? shown.utcMs : undefined;
    this.#context.matcher?.search(entry.message, this.#matches);
    this.#waiting.push({ entry, unsyncedUtcMs });
    if (unsyncedUtcMs !== undefined) {
      if (this.#newestUnsyncedMs === undefined) this.#unsyncedFrom = this.#waiting.length - 1;
      this.#newestUnsyncedMs = unsyncedUtcMs;
    }
    this.#state.lastUid = entry.uid;
    this.#batch.lines++;
    this.#batch.bytes += line.length + 1;
    if (this.#waiting.length > UNSYNCED_LINES_MAX) this.#resolveUnsynced(undefined, 'more');
  }

  #pushUnstamped(line: RawLine, parsed: ParsedLine, flags: RecordFlag[], quirks: Quirks, isTornHead: boolean): void {
    const before = this.#waiting.at(-1);
    const isContinuation = !isTornHead && !isLikeStamp(parsed.message) && line.bytes.length > 0;
    const { shownMs } = this.#file;
    if (isContinuation && this.#state.lastUid !== undefined) this.#state.joins = true;
    this.#batch.lines++;
    this.#batch.bytes += line.length + 1;
    const timestamp =
      shownMs === undefined
        ? undefined
        : renderTimestamp(shownMs, shownMs % 1000 !== 0, line.start, this.#isFirstSecond(shownMs));
    if (isContinuation && before && this.#recovered === undefined) {
      if (joinLine(before.entry, this.#createEntry(line, parsed, flags, quirks, timestamp))) return;
    }
    this.#batch.unparsed++;
    if (line.bytes.length > 0) flags.push('unparsed');
    const entry = this.#createEntry(line, parsed, flags, quirks, timestamp);
    if (this.#newestUnsyncedMs === undefined) this.#flush(this.#waiting.length);
    this.#begin(line.start, entry.uid, shownMs);
    this.#waiting.push({ entry, unsyncedUtcMs: undefined });
    // What has no line with a time before it is continued by nothing.
    if (shownMs === undefined && this.#waiting.length === 1) this.#flush(1);
  }

  #pushRepeat(line: RawLine, text: string, count: number): void {
    if (this.#isSkipping) return;
    this.#resolveUnsynced(undefined, 'more');
    this.#flush(this.#waiting.length);
    const { shownMs } = this.#file;
    const timestamp =
      shownMs === undefined ? undefined : renderTimestamp(shownMs, false, line.start, this.#isFirstSecond(shownMs));
    const about = { offset: line.start, uid: this.#uidAt(line.start), timestamp, message: text.trim() };
    this.#begin(line.start, about.uid, shownMs);
    this.#batch.records.push(renderRepeat(this.#context, about, { count, ofUid: this.#state.lastUid }));
    this.#batch.events.push({ type: 'log-repeat-found', component: this.#context.component, count });
    this.#batch.bytes += line.length + 1;
  }

  #createEntry(
    line: RawLine,
    parsed: ParsedLine,
    flags: RecordFlag[],
    quirks: Quirks,
    timestamp: string | undefined,
  ): Entry {
    const { file, observedMs, matcher } = this.#context;
    const message = matcher ? matcher.redact(parsed.message) : parsed.message;
    const isClean = message === parsed.message;
    return {
      uid: this.#uidAt(line.start),
      file,
      start: line.start,
      end: line.start + line.length + 1,
      observedMs,
      timestamp,
      tag: parsed.tag,
      severity: parsed.severity,
      message,
      flags: flags.length > 0 ? flags : NO_FLAGS,
      lines: 1,
      needsOriginal: quirks.needsOriginal,
      original: isClean && line.sha256 === undefined ? [toOriginal(line)] : undefined,
      details: quirks.details,
    };
  }

  #uidAt(offset: number): string {
    if (!this.#recovered) return renderUid(this.#uidPrefix, offset);
    return renderRecoveredUid(this.#uidPrefix, this.#recovered.block, offset - this.#recovered.offset);
  }

  /** Takes a line apart; the time of the line before is taken over when it is written the same. */
  #parse(text: string): ParsedLine {
    const last = this.#last;
    if (last.text !== '' && text.startsWith(last.text)) {
      const rest = parseRest(text, last.text.length);
      if (rest) return { time: last.wall, ...rest };
    }
    const parsed = parseLine(text, this.#stampContext);
    // A fraction would have to be compared digit by digit to the end.
    if (parsed.time) {
      const { hasFraction, length } = parsed.time;
      this.#last = { text: hasFraction ? '' : text.slice(0, length), wall: parsed.time, shown: undefined };
    }
    return parsed;
  }

  get #stampContext(): StampContext {
    return {
      order: this.#state.order ?? this.#context.order ?? 'dmy',
      nearMs: this.#last.wall?.asUtcMs ?? this.#file.lastUtcMs ?? this.#context.observedMs,
    };
  }

  #skips(time: Stamp): boolean {
    const { skipBeforeUtcMs, zone } = this.#context;
    if (skipBeforeUtcMs === undefined || !this.#isSkipping) return false;
    return zone.toUtc(time.asUtcMs, this.#file.lastUtcMs).utcMs < skipBeforeUtcMs;
  }

  /** Puts a wall time on the world's clock, and judges it. Notes a jump of the clock, as a record of its own. */
  #resolveTime(time: Stamp, start: number, isShown: boolean): Shown {
    const last = this.#last;
    if (last.shown && time === last.wall) {
      this.#notePace(0);
      return last.shown;
    }
    const { utcMs, flags } = this.#toUtc(time);
    const { verdict, jump } = this.#clock.judge(utcMs, this.#lineWindow);
    if (jump && isShown) {
      this.#settle();
      this.#resolveUnsynced(verdict === 'sane' ? utcMs : undefined, 'more');
      this.#flush(this.#waiting.length);
      this.#batch.records.push(renderClockJump(this.#context, { about: this.#uidPrefix, offset: start }, jump));
      this.#batch.events.push({ type: 'log-clock-jumped', component: this.#context.component, ...jump });
    }
    const shown = this.#place(utcMs, verdict, flags);
    last.shown = shown;
    return shown;
  }

  /** Does the same where nothing is remarkable: the clock is set and runs on, in an hour that there is once. */
  #resolveOrdinary(time: WallTime): Shown | undefined {
    const { utcMs, flags } = this.#toUtc(time);
    const window = this.#lineWindow;
    if (flags.length > 0 || !this.#clock.isOrdinary(utcMs, window)) return undefined;
    return this.#place(utcMs, this.#clock.judge(utcMs, window).verdict, flags);
  }

  #toUtc(time: WallTime): UtcTime {
    return this.#context.zone.toUtc(time.asUtcMs, this.#state.clock.lastUtcMs ?? this.#file.lastUtcMs);
  }

  /** Notes the time of a line in its file. */
  #place(utcMs: number, verdict: ClockVerdict, flags: readonly RecordFlag[]): Shown {
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

  get #lineWindow(): LineWindow {
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

  /** Whole seconds, so that the offset in the file gives the order. */
  get #observedSecondMs(): number {
    return toSecond(this.#context.observedMs) * 1000;
  }

  /**
   * Gives lines from before the clock was set their times: counted back from the first line after, at `saneUtcMs`; without
   * one, the time of the download, unless the file is closed and its clock may have been right.
   */
  #resolveUnsynced(saneUtcMs: number | undefined, end: ReadingEnd): void {
    const newest = this.#newestUnsyncedMs;
    if (newest === undefined) return;
    this.#newestUnsyncedMs = undefined;
    const isTrusted = saneUtcMs === undefined && end === 'closed' && this.#state.clock.unsyncedBelowMs !== undefined;
    if (isTrusted) this.#clock.trust();
    // Not from the first one that waits: a thousand of them would be gone through again with each further line.
    for (const waiting of this.#waiting.slice(this.#unsyncedFrom)) {
      const { entry, unsyncedUtcMs } = waiting;
      if (unsyncedUtcMs === undefined) continue;
      if (saneUtcMs !== undefined) {
        entry.timestamp = renderTimestamp(
          toSecond(saneUtcMs - (newest - unsyncedUtcMs)) * 1000,
          false,
          entry.start,
          false,
        );
        entry.flags = [...entry.flags, 'remapped'];
      } else if (isTrusted) {
        entry.timestamp = renderTimestamp(unsyncedUtcMs, false, entry.start, this.#isFirstSecond(unsyncedUtcMs));
        entry.flags = [...entry.flags.filter((flag) => flag !== 'unsynced'), 'clock_uncertain'];
      } else entry.timestamp = renderTimestamp(this.#observedSecondMs, false, entry.start, false);
      waiting.unsyncedUtcMs = undefined;
    }
  }

  /** Renders the first `count` entries that wait. */
  #flush(count: number): void {
    if (count <= 0) return;
    for (const { entry } of this.#waiting.splice(0, count)) this.#batch.records.push(renderEntry(entry, this.#frame));
  }
}

/** A time as it is shown. */
interface Shown {
  readonly utcMs: number;
  readonly verdict: ClockVerdict;
  readonly flags: readonly RecordFlag[];
  readonly isFirstSecond: boolean;
}

/** A usual line that waits for lines that continue it. */
interface WaitingUsual {
  readonly line: RawLine;
  readonly parsed: Omit<ParsedLine, 'time'>;
  readonly usual: UsualLine;
  readonly shown: Shown;
}

interface Quirks {
  readonly needsOriginal: boolean;
  readonly details: Readonly<Record<string, string | number | null>> | undefined;
}

/** The gap of what could not be decompressed of an archive; `from`: the last line before. */
export function toDamageGap(
  { block, startBit, endBit, outputOffset }: BlockLost,
  file: string,
  from: GapEdge | undefined,
): Gap {
  return {
    certainty: 'certain',
    reason: 'damaged',
    from,
    file,
    offset: outputOffset,
    damage: { block, startBit, endBit },
  };
}

/** The bytes of the line; a carriage return at its end belongs to the line end and not to the line. */
function toOriginal({ raw, bytes }: RawLine): Buffer {
  const original = raw ?? bytes;
  return original.at(-1) === CARRIAGE_RETURN ? original.subarray(0, -1) : original;
}
