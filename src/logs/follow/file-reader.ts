import { CodedError } from '../../base/index.ts';
import type { Trailing } from '../archive/decode.ts';
import { parseStampUtcMs } from '../listing/listing.ts';
import type { Gap } from '../position/gap.ts';
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
  isSameFile,
  lineBehind,
  nextGen,
  skipsDamage,
  trackOf,
} from '../step/state.ts';
import type { BodyFacts } from './contracts.ts';
import type { FollowedLog, TakenLines } from './followed-log.ts';

/** Maximum size of a decompressed file. Routers rotate at about 1 MiB. */
const ARCHIVE_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Maximum decompressed bytes per compressed byte. An archive of one repeated line reaches a few thousand. */
const ARCHIVE_RATIO_MAX = 10_000;

/** Approximate size of one commit. Bytes of log text. */
const BATCH_BYTES = 512 * 1024;

interface FileRequest {
  readonly name: string;
  /** Stamp of a rotated file, which no longer grows; absent for `current`. */
  readonly stamp?: string | undefined;
  /** Returns the files read before that this one may be. */
  readonly candidates: () => readonly LogFile[];
  /** True if a file that is none of the candidates is read from its start. */
  readonly acceptsNew: boolean;
  readonly batchBytes?: number | undefined;
}

/** Result of reading a file. `kept`: complete lines read before the failure. */
type FileOutcome =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly cause: unknown; readonly kept: TakenLines | undefined }
  | {
      readonly kind: 'read';
      readonly result: ReadingResult;
      readonly reading: Reading | undefined;
      readonly etag: string | undefined;
      readonly trailing: Trailing | undefined;
    };

interface Attempt {
  readonly candidates: readonly LogFile[];
  /** The file to resume with a range request; `undefined`: the whole file is requested. */
  readonly resumed: LogFile | undefined;
  readonly unlessEtag: string | undefined;
  reading: Reading | undefined;
  etag: string | undefined;
  trailing: Trailing | undefined;
  isUnchanged: boolean;
}

/** Reads the files of one log. Commits full batches while reading and leaves the last one to the caller. */
export class FileReader {
  readonly #log: FollowedLog;

  constructor(log: FollowedLog) {
    this.#log = log;
  }

  /**
   * Reads one file. A file that only begins like a candidate is read again without that candidate. An interrupted
   * download is repeated once. Throws errors that end the whole run.
   */
  async read(request: FileRequest, signal: AbortSignal): Promise<FileOutcome> {
    const refuted: LogFile[] = [];
    let isRetry = false;
    for (;;) {
      const attempt = this.#createAttempt(request, refuted);
      try {
        const result = await this.#download(request, attempt, signal);
        // Only now: a file that begins like a candidate may turn out to be another one.
        if (result.kind === 'taken' && request.stamp === undefined) this.#log.memory.text = undefined;
        if (attempt.isUnchanged) {
          this.#log.rememberEtag(attempt.etag, attempt.candidates[0]?.off);
          return { kind: 'unchanged' };
        }
        if (result.kind === 'deferred' && result.text) this.#log.memory.text = result.text;
        const other = findOther(request, attempt, result);
        if (!other)
          return { kind: 'read', result, reading: attempt.reading, etag: attempt.etag, trailing: attempt.trailing };
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

  /** Takes the lines that were read and are not durable yet. Call it before the position is updated for the file. */
  take(reading: Reading, stamp: string | undefined): TakenLines {
    return this.#toTaken(reading, reading.takeBatch(), stamp);
  }

  #createAttempt({ candidates, acceptsNew, stamp }: FileRequest, refuted: readonly LogFile[]): Attempt {
    const { run, memory } = this.#log;
    const left = candidates().filter((file) => !refuted.some((other) => isSameFile(other, file)));
    const only = acceptsNew || stamp !== undefined ? undefined : left[0];
    const attempt: Attempt = {
      candidates: left,
      resumed: only && run.facts.range !== false && only.proof.base > 0 ? only : undefined,
      unlessEtag: only && this.#log.isEtagOf(only) ? memory.etag : undefined,
      reading: undefined,
      etag: undefined,
      trailing: undefined,
      isUnchanged: false,
    };
    // Cleared until the lines are stored: a 304 would hide unstored ones.
    if (stamp === undefined) memory.etag = undefined;
    return attempt;
  }

  async #download(request: FileRequest, attempt: Attempt, signal: AbortSignal): Promise<ReadingResult> {
    const { source, archives } = this.#log.run.options;
    const { name, stamp } = request;
    if (stamp !== undefined) {
      const resync = skipsDamage(this.#log.position, stamp);
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
    if (resumed && bodyStart > 0) reading.resume(this.#start(request, resumed), bodyStart, resumed.proof.baseSha);
    const result = await reading.read(body);
    attempt.etag = result.kind === 'taken' ? about.etag : undefined;
    attempt.isUnchanged = !request.acceptsNew && reading.isUnchanged;
    // Only lines written since the last read show the time of the router's clock.
    if (reading.hasNewLines) run.evidence.recordFresh(reading.file, about.dateMs, memory.readToEndAtMs);
    return result;
  }

  #understand({ stamp }: FileRequest, attempt: Attempt, cause: unknown, isRetry: boolean): FileOutcome {
    const { run, memory } = this.#log;
    const { reading, unlessEtag, candidates } = attempt;
    const status = stamp === undefined ? statusOf(cause) : undefined;
    if (status === 304) {
      memory.etag = unlessEtag;
      return { kind: 'unchanged' };
    }
    if (status === 416) {
      // The file is shorter than the offset to resume at, so it is another file.
      const result = { kind: 'unrelated', candidate: candidates[0], firstWallAsUtcMs: undefined } as const;
      return { kind: 'read', result, reading: undefined, etag: undefined, trailing: undefined };
    }
    if (status === 206) run.facts.range = false;
    const isAlwaysCut = isTooLong(cause) || (isRetry && isBodyCut(cause));
    return { kind: 'failed', cause, kept: reading && this.#takeWhole(reading, stamp, isAlwaysCut) };
  }

  #takeWhole(reading: Reading, stamp: string | undefined, isAlwaysCut: boolean): TakenLines | undefined {
    const { file } = reading;
    if (!file) return undefined;
    // A new `current` is read again in the next run, unless its download never completes: then what arrived is kept.
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

  /** Time of the newest line of the log, which is not in this file if the file is older than `current`. */
  #findNewestUtcMs(file: LogFile | undefined, stamp: string | undefined): number | undefined {
    const newestUtcMs = file?.lastUtcMs;
    const openUtcMs = this.#log.position.open?.lastUtcMs;
    if (trackOf(this.#log.view, file, stamp) === 'live' || openUtcMs === undefined) return newestUtcMs;
    return newestUtcMs === undefined ? undefined : Math.max(newestUtcMs, openUtcMs);
  }

  /** Decides whether a file may be read now. */
  #begin(request: FileRequest, { key, isUntimed, firstWallAsUtcMs, known }: FileBeginning): ReadingStart | undefined {
    const log = this.#log;
    const { stamp } = request;
    const isFree =
      firstWallAsUtcMs === undefined ||
      (known !== undefined && isBegun(log.position, known)) ||
      // History files have no link to check and wait for nothing.
      (stamp !== undefined && (log.position.open !== undefined || isBackfill(log.position, stamp)));
    if (!isFree && !log.observe({ type: 'file-began', firstWallAsUtcMs, stamp }).mayRead) return undefined;
    return this.#start(request, known ?? createFile(key, nextGen(log.position, key), isUntimed));
  }

  #start({ name, stamp }: FileRequest, candidate: LogFile): ReadingStart {
    const log = this.#log;
    // The beginning of this file may have shown the zone.
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
      ...(isInOrder && { stream: position.stream, notBeforeMs: memory.readToEndAtMs, skew: memory.skew }),
      skipBeforeUtcMs: this.#skipBeforeUtcMs,
    };
    return { file, context };
  }

  /** Lines written after the first contact are never skipped, however late they are read. */
  get #skipBeforeUtcMs(): number | undefined {
    const { position, run } = this.#log;
    const { skipBeforeUtcMs } = position;
    return skipBeforeUtcMs && Math.min(skipBeforeUtcMs, run.contactMs ?? skipBeforeUtcMs);
  }
}

function findOther({ acceptsNew }: FileRequest, { candidates }: Attempt, result: ReadingResult): LogFile | undefined {
  if (result.kind !== 'unrelated' || !result.candidate) return undefined;
  const { candidate } = result;
  const isOther = (file: LogFile): boolean => !isSameFile(file, candidate) && file.key === candidate.key;
  return acceptsNew || candidates.some(isOther) ? candidate : undefined;
}

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
