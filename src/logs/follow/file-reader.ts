import { CodedError } from '../../base/index.ts';
import type { Trailing } from '../archive/decode.ts';
import { parseStampUtcMs } from '../listing/listing.ts';
import type { Gap } from '../position/event-records.ts';
import type { PrefixProof } from '../position/identity.ts';
import { createFile, type LogFile } from '../position/position.ts';
import { isBodyCut, isTooLong, statusOf } from '../reading/errors.ts';
import {
  type FileBeginning,
  FileReading,
  type Reading,
  type ReadingOptions,
  type ReadingResult,
  type ReadingStart,
} from '../reading/file-reading.ts';
import type { RecordBatch } from '../records/record-batch.ts';
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
} from '../step/state.ts';
import type { BodyFacts } from './contracts.ts';
import type { FollowedLog, TakenLines } from './followed-log.ts';

/** Bound of one decompressed file; routers rotate at about one MiB. */
const ARCHIVE_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Decompressed bytes per compressed byte: an archive of one line again and again reaches a few thousand. */
const ARCHIVE_RATIO_MAX = 10_000;

/** Lines are made durable in pieces of about this size. Bytes of log text. */
const BATCH_BYTES = 512 * 1024;

/** The file to read, and the files that it may turn out to be. */
interface FileRequest {
  /** As the router lists it. */
  readonly name: string;
  /** Stamp of a rotated file, to which the router writes no more; absent for `current`. */
  readonly stamp?: string | undefined;
  /** Gives the files read before, one of which this may be. */
  readonly candidates: () => readonly LogFile[];
  /** True if a file that is none of the candidates is read, from its start. */
  readonly acceptsNew: boolean;
  /** Lines are made durable in pieces of about this size. Bytes of log text. Default: 512 KiB. */
  readonly batchBytes?: number | undefined;
}

/** The end of a reading. `failed`: lines that could be read before the fault are in `kept`. */
type FileOutcome =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly cause: unknown; readonly kept: TakenLines | undefined }
  | {
      readonly kind: 'read';
      readonly result: ReadingResult;
      readonly reading: Reading | undefined;
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
  reading: Reading | undefined;
  etag: string | undefined;
  trailing: Trailing | undefined;
  /** True if the file is the one that is open, and there is nothing to take or to note of it. */
  isUnchanged: boolean;
}

/** Reads files of one log: makes whole batches durable during the reading and leaves the last one to the caller. */
export class FileReader {
  readonly #log: FollowedLog;

  constructor(log: FollowedLog) {
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
        if (!other)
          return { kind: 'read', result, reading: attempt.reading, etag: attempt.etag, trailing: attempt.trailing };
        // The proof failed: the next reading does not consider it.
        refuted.push(other);
      } catch (cause) {
        const isHeldBack = cause instanceof CodedError && cause.disposition === 'hold-back';
        if (signal.aborted || this.#log.run.store.hasLostCommit || isHeldBack) throw cause;
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
  take(reading: Reading, stamp: string | undefined): TakenLines {
    return this.#toTaken(reading, reading.takeBatch(), stamp);
  }

  #createAttempt({ candidates, acceptsNew, stamp }: FileRequest, refuted: readonly LogFile[]): Attempt {
    const { run, memory } = this.#log;
    const left = candidates().filter((file) => !refuted.some((other) => isSameFile(other, file)));
    const only = acceptsNew || stamp !== undefined ? undefined : left[0];
    const proof = only && run.facts.range !== false ? only.proof : undefined;
    const isResumed = proof !== undefined && proof.base > 0;
    const attempt: Attempt = {
      candidates: left,
      resumed: only && isResumed ? { file: only, proof } : undefined,
      unlessEtag: only && this.#log.isEtagOf(only) ? memory.etag : undefined,
      reading: undefined,
      etag: undefined,
      trailing: undefined,
      isUnchanged: false,
    };
    // Only of what is durable: a router that is asked again whether anything has changed must not say no.
    if (stamp === undefined) memory.etag = undefined;
    return attempt;
  }

  /** Downloads a file and reads it: `current` only from where reading was to go on, if the router can do that. */
  async #download(request: FileRequest, attempt: Attempt, signal: AbortSignal): Promise<ReadingResult> {
    const { source, archives } = this.#log.run.options;
    const { name, stamp } = request;
    if (stamp !== undefined) {
      const resync = isBeyondRepair(this.#log.position, stamp);
      const limits = { outputBytesMax: ARCHIVE_BYTES_MAX, ratioMax: ARCHIVE_RATIO_MAX, resync };
      return source.readLog(name, signal, async (body, _start, about = {}) => {
        const options = this.#createOptions(request, attempt, about);
        const onBegun = (reading: Reading) => {
          attempt.reading = reading;
        };
        const { result, trailing } = await archives.read(body, options, limits, { signal, onBegun });
        attempt.trailing = trailing;
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
  ): Promise<ReadingResult> {
    const { run, memory } = this.#log;
    const { resumed } = attempt;
    const { body, bodyStart, about } = answer;
    const reading = new FileReading(this.#createOptions(request, attempt, about));
    attempt.reading = reading;
    if (resumed) run.facts.range = bodyStart === resumed.proof.base;
    if (resumed && bodyStart > 0) reading.resume(this.#start(request, resumed.file), bodyStart, resumed.proof.baseSha);
    const result = await reading.read(body);
    attempt.etag = result.kind === 'taken' ? about.etag : undefined;
    attempt.isUnchanged = !request.acceptsNew && reading.isUnchanged;
    // Old lines say nothing of the time at which they were read.
    if (reading.hasNewLines) run.evidence.noteFresh(reading.file, about.dateMs, memory.lookedAtMs);
    return result;
  }

  /** Finds out what an error says of the file. Takes the whole lines that came before it. */
  #understand({ stamp }: FileRequest, attempt: Attempt, cause: unknown, isRetry: boolean): FileOutcome {
    const { run, memory } = this.#log;
    const { reading, unlessEtag, candidates } = attempt;
    const status = stamp === undefined ? statusOf(cause) : undefined;
    if (status === 304) {
      memory.etag = unlessEtag;
      return { kind: 'unchanged' };
    }
    if (status === 416) {
      // The file ends before the place where reading was to go on: it is another one.
      const result = { kind: 'unrelated', candidate: candidates[0], firstWallAsUtcMs: undefined } as const;
      return { kind: 'read', result, reading: undefined, etag: undefined, trailing: undefined };
    }
    if (status === 206) run.facts.range = false;
    const isAlwaysCut = isTooLong(cause) || (isRetry && isBodyCut(cause));
    return { kind: 'failed', cause, kept: reading && this.#takeWhole(reading, stamp, isAlwaysCut) };
  }

  /** After a fault: takes the lines that came before it, which are whole and verified. */
  #takeWhole(reading: Reading, stamp: string | undefined, isAlwaysCut: boolean): TakenLines | undefined {
    const { file } = reading;
    if (!file) return undefined;
    // A new `current` that no second listing has confirmed is read again next time; but one that no download gives whole
    // would never be read to its end.
    if (stamp === undefined && !isBegun(this.#log.position, file) && !isAlwaysCut) return undefined;
    const taken = this.take(reading, stamp);
    const isInOrder = trackOf(this.#log.view, file, stamp) === 'live';
    const holds = isInOrder && taken.piece.stream?.held !== undefined;
    const isEmpty = taken.batch.records.length === 0 && taken.batch.skipped === 0 && !holds;
    return isEmpty ? undefined : taken;
  }

  #createOptions(request: FileRequest, attempt: Attempt, about: BodyFacts): ReadingOptions {
    const { name, stamp, acceptsNew, batchBytes = BATCH_BYTES } = request;
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
        if (!attempt.reading) return;
        const taken = this.#toTaken(attempt.reading, batch, stamp);
        await log.record({ type: 'lines-read', piece: taken.piece }, taken);
      },
    };
  }

  #toTaken(reading: Reading, batch: RecordBatch, stamp: string | undefined): TakenLines {
    const { file, stream } = reading;
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
  #begin(request: FileRequest, { key, isUntimed, firstWallAsUtcMs, known }: FileBeginning): ReadingStart | undefined {
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

  #start({ name, stamp }: FileRequest, candidate: LogFile): ReadingStart {
    const log = this.#log;
    // The beginning of the file may just have shown the zone.
    log.alignTimes();
    const { position, view, memory, component, observedMs } = log;
    const { router, matcher, clock } = log.run.options;
    const file = findFile(position, candidate) ?? candidate;
    const waitingTo = stamp === undefined ? undefined : position.waiting[stamp]?.to;
    const isInOrder = trackOf(view, file, stamp) === 'live';
    const context = {
      router,
      component,
      zone: log.run.evidence.zone,
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
    const { position, run } = this.#log;
    const { skipBeforeUtcMs } = position;
    return skipBeforeUtcMs && Math.min(skipBeforeUtcMs, run.contactMs ?? skipBeforeUtcMs);
  }
}

/** The candidate that the file is not, where it may still be another one. */
function findOther({ acceptsNew }: FileRequest, { candidates }: Attempt, result: ReadingResult): LogFile | undefined {
  if (result.kind !== 'unrelated' || !result.candidate) return undefined;
  const { candidate } = result;
  const isOther = (file: LogFile): boolean => !isSameFile(file, candidate) && file.key === candidate.key;
  return acceptsNew || candidates.some(isOther) ? candidate : undefined;
}

/** The gap of lines that were passed over from `offset` of a file on because they are older than what is wanted. */
function toSkipped({ skipped, skippedBytes, first }: RecordBatch, file: string, offset: number): Gap | undefined {
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
