import type { Trailing } from './archive/index.ts';
import type { BodyFacts } from './contracts.ts';
import { dispositionOf, isBodyCut, isTooLong, statusOf } from './errors.ts';
import type { Gap } from './event-records.ts';
import {
  type FileBeginning,
  FileScan,
  type Scan,
  type ScanOptions,
  type ScanResult,
  type ScanStart,
} from './file-scan.ts';
import type { ScanBatch } from './lines/scan-batch.ts';
import { parseStampUtcMs } from './names.ts';
import type { PrefixProof } from './position/identity.ts';
import { createFile, type LogFile } from './position/position.ts';
import type { CommittedLines, TrackedLog } from './tail/tracked-log.ts';
import type { ReadPiece } from './tracker/observation.ts';
import {
  findFile,
  flagsFor,
  isBackfill,
  isBegun,
  isBeyondRepair,
  isSameFile,
  lineBehind,
  nextGen,
  trackOf,
} from './tracker/state.ts';

/** Bound of one decompressed file; routers rotate at about one MiB. */
const ARCHIVE_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Decompressed bytes per compressed byte: an archive of one line again and again reaches a few thousand. */
const ARCHIVE_RATIO_MAX = 10_000;

/** The file to read, and the files that it may turn out to be. */
export interface FileRequest {
  /** As the router lists it. */
  readonly name: string;
  /** Stamp of a rotated file, to which the router writes no more; absent for `current`. */
  readonly stamp?: string | undefined;
  /** Gives the files read before, one of which this may be. */
  readonly candidates: () => readonly LogFile[];
  /** True if a file that is none of the candidates is read, from its start. */
  readonly acceptsNew: boolean;
  /** Lines are made durable in pieces of about this size. Bytes of log text. */
  readonly batchBytes: number;
}

/** Lines that were read and are not durable yet. */
export interface TakenLines extends CommittedLines {
  readonly piece: ReadPiece;
}

/** The end of a reading. `failed`: lines that could be read before the fault are in `kept`. */
export type FileOutcome =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly cause: unknown; readonly kept: TakenLines | undefined }
  | {
      readonly kind: 'read';
      readonly result: ScanResult;
      readonly scan: Scan | undefined;
      readonly etag: string | undefined;
      /** Bytes behind the end of the archive. */
      readonly trailing: Trailing | undefined;
    };

/** One download of a file. */
interface Attempt {
  readonly candidates: readonly LogFile[];
  /** Reads only what follows the base of this proof, where the router can do that; `undefined`: from the beginning of the file. */
  readonly resumed: { readonly file: LogFile; readonly proof: PrefixProof } | undefined;
  readonly unlessEtag: string | undefined;
  scan: Scan | undefined;
  etag: string | undefined;
  trailing: Trailing | undefined;
  /** True if the file is the one that is open, and there is nothing to take or to note of it. */
  isUnchanged: boolean;
}

/** Reads files of one log: makes whole batches durable during the reading and leaves the last one to the caller. */
export class FileReader {
  readonly #log: TrackedLog;

  constructor(log: TrackedLog) {
    this.#log = log;
  }

  /**
   * Reads one file. A file that only begins like one of the candidates is read again without it, and a body that broke off
   * is asked for once more. Throws what ends the whole run.
   */
  async read(request: FileRequest, signal: AbortSignal): Promise<FileOutcome> {
    const refuted: LogFile[] = [];
    let isRetry = false;
    for (;;) {
      const attempt = this.#createAttempt(request, refuted);
      try {
        const result = await this.#download(request, attempt, signal);
        // Not before: a file that only begins like another one is begun as that one first.
        if (result.kind === 'taken' && request.stamp === undefined) this.#log.memory.text = undefined;
        if (attempt.isUnchanged) {
          this.#log.noteEtag(attempt.etag, attempt.candidates[0]?.off);
          return { kind: 'unchanged' };
        }
        if (result.kind === 'deferred' && result.text) this.#log.memory.text = result.text;
        const other = findOther(request, attempt, result);
        if (!other) return { kind: 'read', result, scan: attempt.scan, etag: attempt.etag, trailing: attempt.trailing };
        // The proof failed: the next reading does not consider it.
        refuted.push(other);
      } catch (cause) {
        if (signal.aborted || this.#log.context.hasLostCommit || dispositionOf(cause) === 'hold-back') throw cause;
        const outcome = this.#understand(request, attempt, cause, isRetry);
        const isRefusedPart = request.stamp === undefined && statusOf(cause) === 206;
        const isWorthRetry = isRefusedPart || isBodyCut(cause);
        if (outcome.kind !== 'failed' || isRetry || !isWorthRetry) return outcome;
        if (outcome.kept) await this.#log.record({ type: 'lines-read', piece: outcome.kept.piece }, outcome.kept);
        isRetry = true;
      }
    }
  }

  /** Takes what was read of a file and is not durable yet. Comes before the tracker learns how the file stands now. */
  take(scan: Scan, stamp: string | undefined): TakenLines {
    return this.#toTaken(scan, scan.takeBatch(), stamp);
  }

  #createAttempt({ candidates, acceptsNew, stamp }: FileRequest, refuted: readonly LogFile[]): Attempt {
    const { context, memory } = this.#log;
    const left = candidates().filter((file) => !refuted.some((other) => isSameFile(other, file)));
    const only = acceptsNew || stamp !== undefined ? undefined : left[0];
    const proof = only && context.facts.range !== false ? only.proof : undefined;
    const isResumed = proof !== undefined && proof.base > 0;
    const attempt: Attempt = {
      candidates: left,
      resumed: only && isResumed ? { file: only, proof } : undefined,
      unlessEtag: only && this.#log.isEtagOf(only) ? memory.etag : undefined,
      scan: undefined,
      etag: undefined,
      trailing: undefined,
      isUnchanged: false,
    };
    // Only of what is durable: a router that is asked again whether anything has changed must not say no.
    if (stamp === undefined) memory.etag = undefined;
    return attempt;
  }

  /** Downloads a file and reads it: `current` only from where reading was to go on, if the router can do that. */
  async #download(request: FileRequest, attempt: Attempt, signal: AbortSignal): Promise<ScanResult> {
    const { source, archives } = this.#log.context;
    const { name, stamp } = request;
    if (stamp !== undefined) {
      const resync = isBeyondRepair(this.#log.position, stamp);
      const limits = { outputBytesMax: ARCHIVE_BYTES_MAX, ratioMax: ARCHIVE_RATIO_MAX, resync };
      return source.readLog(name, signal, async (body, _start, about = {}) => {
        const reading = archives.open(this.#createOptions(request, attempt, about), limits, signal);
        attempt.scan = reading;
        const result = await reading.read(body);
        attempt.trailing = reading.trailing;
        return result;
      });
    }
    return source.readLog(
      name,
      signal,
      (body, bodyStart = 0, about = {}) => this.#readCurrent(request, attempt, { body, bodyStart, about }),
      { start: attempt.resumed?.proof.base, unlessEtag: attempt.unlessEtag },
    );
  }

  async #readCurrent(
    request: FileRequest,
    attempt: Attempt,
    answer: { readonly body: AsyncIterable<Uint8Array>; readonly bodyStart: number; readonly about: BodyFacts },
  ): Promise<ScanResult> {
    const { context, memory } = this.#log;
    const { resumed } = attempt;
    const { body, bodyStart, about } = answer;
    const scan = new FileScan(this.#createOptions(request, attempt, about));
    attempt.scan = scan;
    if (resumed) context.noteRange(bodyStart === resumed.proof.base);
    if (resumed && bodyStart > 0) scan.resume(this.#start(request, resumed.file), bodyStart, resumed.proof.baseSha);
    const result = await scan.read(body);
    attempt.etag = result.kind === 'taken' ? about.etag : undefined;
    attempt.isUnchanged = !request.acceptsNew && scan.isUnchanged;
    // Old lines say nothing of the time at which they were read.
    if (scan.hasNewLines) context.noteFresh(scan.file, about.dateMs, memory.lookedAtMs);
    return result;
  }

  /** Finds out what an error says of the file. Takes the whole lines that came before it. */
  #understand({ stamp }: FileRequest, attempt: Attempt, cause: unknown, isRetry: boolean): FileOutcome {
    const { context, memory } = this.#log;
    const { scan, unlessEtag, candidates } = attempt;
    const status = stamp === undefined ? statusOf(cause) : undefined;
    if (status === 304) {
      memory.etag = unlessEtag;
      return { kind: 'unchanged' };
    }
    if (status === 416) {
      // The file ends before the place where reading was to go on: it is another one.
      const result = { kind: 'unrelated', candidate: candidates[0], firstWallAsUtcMs: undefined } as const;
      return { kind: 'read', result, scan: undefined, etag: undefined, trailing: undefined };
    }
    if (status === 206) context.noteRange(false);
    const isAlwaysCut = isTooLong(cause) || (isRetry && isBodyCut(cause));
    return { kind: 'failed', cause, kept: scan && this.#takeWhole(scan, stamp, isAlwaysCut) };
  }

  /** After a fault: takes the lines that came before it, which are whole and verified. */
  #takeWhole(scan: Scan, stamp: string | undefined, isAlwaysCut: boolean): TakenLines | undefined {
    const { file } = scan;
    if (!file) return undefined;
    // A new `current` that no second listing has confirmed is read again next time; but one that no download gives whole
    // would never be read to its end.
    if (stamp === undefined && !isBegun(this.#log.position, file) && !isAlwaysCut) return undefined;
    const taken = this.take(scan, stamp);
    const isInOrder = trackOf(this.#log.view, file, stamp) === 'live';
    const holds = isInOrder && taken.piece.stream?.held !== undefined;
    const isEmpty = taken.batch.records.length === 0 && taken.batch.skipped === 0 && !holds;
    return isEmpty ? undefined : taken;
  }

  #createOptions(request: FileRequest, attempt: Attempt, about: BodyFacts): ScanOptions {
    const { name, stamp, acceptsNew, batchBytes } = request;
    const log = this.#log;
    return {
      name,
      candidates: attempt.candidates,
      acceptsNew,
      isClosed: stamp !== undefined,
      mediaType: about.mediaType,
      texts: log.texts,
      endMs: stamp === undefined ? log.observedMs : parseStampUtcMs(stamp),
      order: log.position.stream.order,
      batchBytes,
      begin: (beginning) => this.#begin(request, beginning),
      onBatch: async (batch) => {
        if (!attempt.scan) return;
        const taken = this.#toTaken(attempt.scan, batch, stamp);
        await log.record({ type: 'lines-read', piece: taken.piece }, taken);
      },
    };
  }

  #toTaken(scan: Scan, batch: ScanBatch, stamp: string | undefined): TakenLines {
    const { file, stream } = scan;
    const { first, gaps } = batch;
    const name = `${this.#log.component}/${stamp === undefined ? 'current' : `log-${stamp}`}`;
    const offset = (file && findFile(this.#log.position, file)?.off) ?? 0;
    const piece = { file, stamp, stream, first, gaps, skipped: toSkipped(batch, name, offset) };
    return { batch, piece, newestUtcMs: this.#findNewestUtcMs(file, stamp) };
  }

  /** Time of the newest line that was read: of the live log, when an older file is read behind it. */
  #findNewestUtcMs(file: LogFile | undefined, stamp: string | undefined): number | undefined {
    const newestUtcMs = file?.lastUtcMs;
    const openUtcMs = this.#log.position.open?.lastUtcMs;
    if (trackOf(this.#log.view, file, stamp) === 'live' || openUtcMs === undefined) return newestUtcMs;
    return newestUtcMs === undefined ? undefined : Math.max(newestUtcMs, openUtcMs);
  }

  /** Decides if a file may be read now. */
  #begin(request: FileRequest, { key, isUntimed, firstWallAsUtcMs, known }: FileBeginning): ScanStart | undefined {
    const log = this.#log;
    const { stamp } = request;
    const isFree =
      firstWallAsUtcMs === undefined ||
      (known !== undefined && isBegun(log.position, known)) ||
      // What is read behind the live log is linked to nothing, and waits for nothing.
      (stamp !== undefined && (log.position.open !== undefined || isBackfill(log.position, stamp)));
    if (!isFree && !log.observe({ type: 'file-began', firstWallAsUtcMs, stamp }).mayRead) return undefined;
    return this.#start(request, known ?? createFile(key, nextGen(log.position, key), isUntimed));
  }

  #start({ name, stamp }: FileRequest, candidate: LogFile): ScanStart {
    const log = this.#log;
    // The beginning of the file may just have shown the zone.
    log.alignTimes();
    const { position, view, memory, component, observedMs } = log;
    const { router, zone, matcher, clock } = log.context;
    const file = findFile(position, candidate) ?? candidate;
    const waitingTo = stamp === undefined ? undefined : position.waiting[stamp]?.to;
    const isInOrder = trackOf(view, file, stamp) === 'live';
    const context = {
      router,
      component,
      zone,
      observedMs,
      now: () => clock.now(),
      file: name,
      flags: flagsFor(view, file, stamp),
      matcher: matcher?.of(component),
      behind: lineBehind(position, file) ?? waitingTo ?? undefined,
      ...(isInOrder && { stream: position.stream, notBeforeMs: memory.lookedAtMs, skew: memory.skew }),
      skipBeforeUtcMs: this.#skipBeforeUtcMs,
    };
    return { file, context };
  }

  /** Of what the router has written since the first contact, nothing is passed over, however late it can be read. */
  get #skipBeforeUtcMs(): number | undefined {
    const { position, context } = this.#log;
    const { skipBeforeUtcMs } = position;
    return skipBeforeUtcMs && Math.min(skipBeforeUtcMs, context.contactMs ?? skipBeforeUtcMs);
  }
}

/** The candidate that the file is not, where it may still be another one. */
function findOther({ acceptsNew }: FileRequest, { candidates }: Attempt, result: ScanResult): LogFile | undefined {
  if (result.kind !== 'unrelated' || !result.candidate) return undefined;
  const { candidate } = result;
  const isOther = (file: LogFile): boolean => !isSameFile(file, candidate) && file.key === candidate.key;
  return acceptsNew || candidates.some(isOther) ? candidate : undefined;
}

/** The gap of lines that were passed over from `offset` of a file on because they are older than what is wanted. */
function toSkipped({ skipped, skippedBytes, first }: ScanBatch, file: string, offset: number): Gap | undefined {
  if (skipped === 0) return undefined;
  return {
    certainty: 'certain',
    reason: 'skipped',
    from: undefined,
    to: first,
    file,
    offset,
    lines: skipped,
    bytesMin: skippedBytes,
  };
}
