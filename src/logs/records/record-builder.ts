import type { RecordFlag, RouterIdentity } from '../../model/index.ts';
import { type BlockLost, type Gap, type GapEdge, toDamageGap } from '../position/gap.ts';
import { createUidPrefix, type RecoveredBlock, renderUid } from '../position/identity.ts';
import {
  copyStreamState,
  createStreamState,
  type LogFileDraft,
  type StreamDraft,
  type StreamState,
  toLastEdge,
} from '../position/position.ts';
import { LineMatcher, MatchTotals, type MessageMatcher } from '../rules/line-matcher.ts';
import { type DateOrder, isLikeStamp, type Stamp } from '../time/stamp.ts';
import { renderEvent, renderRepeat, toEventUid } from './event-records.ts';
import { FastPath } from './fast-path.ts';
import { describeQuirks, isEmptyLine, type RawLine, withoutCarriageReturn } from './line-splitter.ts';
import { LineTimes, type TimeContext } from './line-times.ts';
import { isOwnRequest, type ParsedLine, parseRepeatNotice, splitGlued } from './parse-line.ts';
import {
  createBatch,
  type Entry,
  type ReadingEnd,
  type RecordBatch,
  RecordFrame,
  WaitingEntries,
} from './record-batch.ts';

/** Context of the records of one reading. */
export interface RecordContext extends TimeContext {
  readonly router: RouterIdentity;
  readonly component: string;
  readonly file: string;
  readonly flags: readonly RecordFlag[];
  /** State after the previous lines; absent for a file read out of order. */
  readonly stream?: StreamState | undefined;
  /** Older lines are skipped. */
  readonly skipBeforeUtcMs?: number | undefined;
  /** First line after this file, if it was read before. */
  readonly behind?: GapEdge | undefined;
  /** Redaction and log rules. Default: none. */
  readonly matcher?: MessageMatcher | undefined;
}

const NO_FLAGS: readonly RecordFlag[] = [];

/**
 * Turns the lines of one file into records, in order. The last line waits for continuation lines, and unsynced lines
 * for the clock to be set.
 */
export class RecordBuilder {
  readonly #context: RecordContext;
  readonly #file: LogFileDraft;
  readonly #uidPrefix: string;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #times: LineTimes;
  readonly #frame: RecordFrame;
  readonly #state: StreamDraft;
  readonly #waiting: WaitingEntries;
  readonly #fastPath: FastPath;
  #batch: RecordBatch;
  #matches = new MatchTotals();
  /** True until a line is recent enough to be wanted. */
  #maySkip: boolean;
  /** True after a skipped line: lines without a time belong to it. */
  #isSkipping: boolean;
  /** True if the next line may be the second half of one. */
  #isHalf = false;
  /** The block after the last damage, from which uids are counted. */
  #recovered: RecoveredBlock | undefined;
  #damage: Gap[] = [];

  constructor(context: RecordContext, file: LogFileDraft) {
    this.#context = context;
    this.#batch = createBatch();
    this.#file = file;
    const { router, component } = context;
    this.#uidPrefix = createUidPrefix(router.name, component, file);
    this.#frame = new RecordFrame(router.name, component, router.labels);
    this.#state = context.stream ? copyStreamState(context.stream) : createStreamState();
    this.#times = new LineTimes(context, file, this.#state);
    this.#waiting = new WaitingEntries(this.#times, this.#frame, this.#state.held);
    this.#fastPath = new FastPath({
      ...context,
      times: this.#times,
      draft: file,
      waiting: this.#waiting,
      frame: this.#frame,
      uidPrefix: this.#uidPrefix,
      matcher: context.matcher ?? LineMatcher.none,
    });
    // Out of order, the clock is judged by this file alone.
    if (!context.stream) this.#times.beginAlone();
    // Also in a file of which everything read so far was skipped.
    const isBeginning = file.off === 0 || (context.stream && context.stream.lastUid === undefined);
    this.#maySkip = context.skipBeforeUtcMs !== undefined && isBeginning === true;
    this.#isSkipping = this.#maySkip && context.stream?.lastUid === undefined;
    this.#recovered = file.recovered;
  }

  /** State for the next reading, valid for the last {@link take}. */
  get stream(): StreamState {
    return copyStreamState(this.#state);
  }

  learnOrder(order: DateOrder): void {
    this.#state.order ??= order;
  }

  markBuffered(): void {
    this.#state.isBuffered = true;
  }

  get batchBytes(): number {
    return this.#batch.bytes;
  }

  push(raw: RawLine): void {
    this.#batch.nulBytes += raw.nulBytes;
    if (isEmptyLine(raw)) {
      this.#batch.emptyBytes += raw.length + 1;
      return;
    }
    const { tornAt } = this.#file;
    for (const part of splitGlued(raw, tornAt)) this.#pushLine(part.line, part.isGlued, part.isTail);
  }

  pushHalf(raw: RawLine): void {
    this.#isHalf = true;
    this.push(raw);
  }

  /** Adds damage. The next line continues no record before it. */
  lose(lost: readonly BlockLost[]): void {
    this.#waiting.resolveUnsynced(undefined, 'more');
    this.#flush();
    const { router, component, file } = this.#context;
    const from = toLastEdge(router.name, component, this.#file);
    for (const block of lost) {
      this.#damage.push(toDamageGap(block, file, from));
      this.#file.damageToldBit = block.endBit;
    }
  }

  /** Adds a binary stretch. The next line continues no record before it. */
  loseBytes(offset: number, bytesMin: number): void {
    this.#waiting.resolveUnsynced(undefined, 'more');
    this.#flush();
    const { router, component, file } = this.#context;
    const from = toLastEdge(router.name, component, { ...this.#file, off: offset });
    this.#damage.push({ certainty: 'certain', reason: 'binary', from, file, offset, bytesMin });
  }

  /** Continues after damage. The first line may be the second half of one. */
  recover(recovered: RecoveredBlock): void {
    this.#waiting.resolveUnsynced(undefined, 'more');
    this.#flush();
    this.#recovered = recovered;
    this.#isHalf = true;
  }

  /** `to`: the first line after the gaps; `undefined` if not known yet. */
  #emitDamage(to: GapEdge | undefined): void {
    for (const gap of this.#damage) {
      const emitted = { ...gap, to };
      this.#batch.records.push(renderEvent(this.#context, { type: 'gap', gap: emitted }));
      this.#batch.gaps.push(emitted);
    }
    this.#damage = [];
  }

  /** Gaps before a record end with it. */
  #begin(start: number, uid: string, utcMs: number | undefined): void {
    const edge = { uid, utcMs };
    this.#file.lastStart = start;
    if (this.#recovered) this.#file.recovered = this.#recovered;
    if (this.#damage.length > 0) this.#emitDamage(edge);
    this.#batch.first ??= edge;
  }

  /** Takes the records so far. The last one may be held in {@link stream}. */
  take(end: ReadingEnd): RecordBatch {
    // Out of order no later reading continues here.
    const isInOrder = this.#context.stream !== undefined;
    const isWhole = this.#damage.length === 0;
    const mayHold = isInOrder && isWhole && (end === 'more' || this.#state.joins);
    this.#waiting.resolveUnsynced(undefined, end);
    this.#state.held = this.#waiting.flush(this.#batch.records, mayHold);
    this.#emitDamage(end === 'closed' ? this.#context.behind : undefined);
    const batch = this.#batch;
    const { component } = this.#context;
    for (const match of this.#matches.list()) {
      // Newer lines were read before, so a gauge would show an old value.
      if (match.kind === 'counter' || isInOrder) batch.events.push({ type: 'log-rule-matched', component, ...match });
    }
    this.#batch = createBatch();
    this.#matches = new MatchTotals();
    return batch;
  }

  /**
   * Fast path of {@link push}: takes common lines directly from `bytes`, beginning at `from` there and at `start` in
   * the file. Returns the place of the first line that is left.
   */
  takeRun(bytes: Buffer, from: number, start: number): number {
    const isOrdinary = !this.#waiting.hasUnsynced && this.#file.tornAt.length === 0;
    if (!isOrdinary || this.#maySkip || this.#isHalf || this.#recovered || this.#damage.length > 0) return from;
    return this.#fastPath.take(bytes, from, start, { batch: this.#batch, matches: this.#matches });
  }

  #pushLine(line: RawLine, isGlued: boolean, isTail: boolean): void {
    const body = withoutCarriageReturn(line.bytes);
    const text = line.isAscii ? body.toString('latin1') : this.#decoder.decode(body);
    const repeats = text.startsWith('    ') ? parseRepeatNotice(text) : undefined;
    if (repeats !== undefined) {
      this.#pushRepeat(line, text, repeats);
      return;
    }
    const parsed = this.#times.parse(text);
    if (parsed.time) {
      this.#isSkipping = this.#skips(parsed.time);
      this.#maySkip &&= this.#isSkipping;
    }
    if (this.#isSkipping) {
      this.#skip(line);
      if (parsed.time) this.#resolveTime(parsed.time, line.start, false);
      return;
    }
    const flags: RecordFlag[] = [...this.#context.flags];
    if (isGlued) flags.push('glued');
    if (this.#recovered) flags.push('recovered');
    if (this.#isHalf) flags.push('partial');
    this.#isHalf = false;
    const quirks = describeQuirks(line, body, text, flags);
    if (parsed.time) this.#pushStamped(line, parsed, flags, quirks);
    else this.#pushUnstamped(line, parsed, flags, quirks, isGlued && !isTail);
  }

  #pushStamped(
    line: RawLine,
    parsed: ParsedLine,
    flags: RecordFlag[],
    quirks: ReturnType<typeof describeQuirks>,
  ): void {
    const { time } = parsed;
    if (!time) return;
    const shown = this.#resolveTime(time, line.start, true);
    flags.push(...shown.flags);
    const isSane = shown.verdict === 'sane';
    if (isSane) this.#waiting.resolveUnsynced(shown.utcMs, 'more');
    else if (shown.verdict === 'ahead') this.#waiting.resolveUnsynced(undefined, 'more');
    if (isOwnRequest(parsed.message)) {
      flags.push('self');
      this.#batch.own++;
    }
    const timestamp = this.#times.render(shown, time.hasFraction, line.start);
    // With a set clock this line continues no waiting line.
    if (isSane || shown.verdict === 'ahead') this.#flush();
    const entry = this.#createEntry(line, parsed, flags, quirks, timestamp);
    if (isSane) entry.utcMs = shown.utcMs;
    // The text shows another time than the record, so it is included.
    else entry.needsOriginal = true;
    this.#begin(line.start, entry.uid, entry.utcMs);
    this.#context.matcher?.search(entry.message, this.#matches);
    if (shown.verdict === 'unsynced') this.#waiting.pushUnsynced(entry, shown.utcMs);
    else this.#waiting.push(entry);
    this.#state.lastUid = entry.uid;
    this.#batch.lines++;
    this.#batch.bytes += line.length + 1;
  }

  #pushUnstamped(
    line: RawLine,
    parsed: ParsedLine,
    flags: RecordFlag[],
    quirks: ReturnType<typeof describeQuirks>,
    isTornHead: boolean,
  ): void {
    const isContinuation = !isTornHead && !isLikeStamp(parsed.message) && line.bytes.length > 0;
    const { shownMs } = this.#file;
    if (isContinuation && this.#state.lastUid !== undefined) this.#state.joins = true;
    this.#batch.lines++;
    this.#batch.bytes += line.length + 1;
    const timestamp = this.#times.renderBefore(line.start);
    const mayJoin = isContinuation && this.#recovered === undefined;
    if (mayJoin && this.#waiting.join(this.#createEntry(line, parsed, flags, quirks, timestamp))) return;
    this.#batch.unparsed++;
    if (line.bytes.length > 0) flags.push('unparsed');
    const entry = this.#createEntry(line, parsed, flags, quirks, timestamp);
    if (!this.#waiting.hasUnsynced) this.#flush();
    this.#begin(line.start, entry.uid, shownMs);
    this.#waiting.push(entry);
    // Without a line with a time before it, nothing continues it.
    if (shownMs === undefined && this.#waiting.length === 1) this.#flush();
  }

  #pushRepeat(line: RawLine, text: string, count: number): void {
    if (this.#isSkipping) {
      this.#skip(line);
      return;
    }
    this.#waiting.resolveUnsynced(undefined, 'more');
    this.#flush();
    const { shownMs } = this.#file;
    const timestamp = this.#times.renderBefore(line.start);
    const about = {
      offset: line.start,
      uid: renderUid(this.#uidPrefix, line.start, this.#recovered),
      timestamp,
      message: text.trim(),
    };
    this.#begin(line.start, about.uid, shownMs);
    this.#batch.records.push(renderRepeat(this.#context, about, { count, ofUid: this.#state.lastUid }));
    this.#batch.events.push({ type: 'log-repeat-found', component: this.#context.component, count });
    this.#batch.bytes += line.length + 1;
  }

  #createEntry(
    line: RawLine,
    parsed: ParsedLine,
    flags: RecordFlag[],
    quirks: ReturnType<typeof describeQuirks>,
    timestamp: string | undefined,
  ): Entry {
    const { file, observedMs, matcher } = this.#context;
    const message = matcher ? matcher.redact(parsed.message) : parsed.message;
    const isClean = message === parsed.message;
    return {
      uid: renderUid(this.#uidPrefix, line.start, this.#recovered),
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
      needsOriginal: quirks.needsOriginal || parsed.host !== undefined,
      original: isClean && line.sha256 === undefined ? [withoutCarriageReturn(line.raw ?? line.bytes)] : undefined,
      details: quirks.details,
    };
  }

  #skip(line: RawLine): void {
    this.#batch.skipped++;
    this.#batch.skippedBytes += line.length + 1;
    this.#file.lastStart = line.start;
  }

  #skips(time: Stamp): boolean {
    const { skipBeforeUtcMs } = this.#context;
    return skipBeforeUtcMs !== undefined && this.#maySkip && this.#times.toUtcMs(time) < skipBeforeUtcMs;
  }

  /** A clock jump gets a record before the line, if that is shown. */
  #resolveTime(time: Stamp, start: number, isShown: boolean) {
    return this.#times.resolve(time, (jump, saneUtcMs) => {
      if (!isShown) return;
      this.#waiting.resolveUnsynced(saneUtcMs, 'more');
      this.#flush();
      const { router, component } = this.#context;
      const event = { type: 'clock-jump', about: this.#uidPrefix, offset: start, jump } as const;
      this.#batch.records.push(renderEvent(this.#context, event));
      const uid = toEventUid(router.name, component, event);
      this.#batch.events.push({ type: 'log-clock-jumped', component, uid, ...jump });
    });
  }

  #flush(): void {
    this.#waiting.flush(this.#batch.records);
  }
}
