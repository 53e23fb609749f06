import type { Trailing } from '../archive/decode.ts';
import { parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import { type Gap, toDamageGap } from '../position/event-records.ts';
import { type FileFault, type LogFile, toLastEdge } from '../position/position.ts';
import { ArchiveError, isFileFault, statusOf } from '../reading/errors.ts';
import type { ReadingResult } from '../reading/file-reading.ts';
import { isBeyondRepair, isSameFile, listBegun, listRemembered } from '../step/state.ts';
import type { FileReader } from './file-reader.ts';
import type { FollowedLog, TakenLines } from './followed-log.ts';

/** A file is rotated after its last line; of several processes, that may be stamped a little later. Milliseconds. */
const SLACK_MS = 5000;

/** `completed`: done with. `unfinished`: to be tried again later. `deferred`: it may not be read yet. */
type RotatedOutcome = 'completed' | 'unrelated' | 'deferred' | 'unfinished';

/**
 * Reads one rotated file to its end, or finds out why that is not possible now. `wanted`: with `begun` only the rest of a file that was
 * begun is read.
 */
export async function readRotated(
  log: FollowedLog,
  reader: FileReader,
  rotated: RotatedFile,
  wanted: 'begun' | 'any',
  signal: AbortSignal,
): Promise<RotatedOutcome> {
  const { name, stamp } = rotated;
  const acceptsNew = wanted === 'any';
  const candidates = (): LogFile[] => (acceptsNew ? listRemembered(log.position) : listBegun(log.position));
  const outcome = await reader.read({ name, stamp, candidates, acceptsNew }, signal);
  if (outcome.kind === 'failed') return await noteFault(log, rotated, outcome.cause, outcome.kept);
  if (outcome.kind === 'unchanged' || !outcome.reading) return 'unfinished';
  const { reading, result } = outcome;
  if (result.kind === 'deferred') {
    await log.save();
    return 'deferred';
  }
  if (result.kind === 'binary') {
    await log.record({ type: 'file-unreadable', rotated, reason: 'binary', bytes: result.bytes });
    return 'completed';
  }
  const damaged = findDamaged(log, stamp, result);
  if (damaged) {
    // It has been rotated, so `current` is another file.
    if (isSameFile(log.position.open, damaged)) log.observe({ type: 'current-replaced' });
    await log.record({ type: 'file-unreadable', rotated, reason: 'damaged', file: damaged });
    return 'completed';
  }
  if (result.kind === 'unrelated') {
    const { firstWallAsUtcMs } = result;
    log.observe({ type: 'file-unrelated', stamp, firstWallAsUtcMs });
    return 'unrelated';
  }
  const taken = reader.take(reading, stamp);
  const { file } = taken.piece;
  const damage = [
    ...reading.lost.map((lost) => toDamageGap(lost, name, undefined)),
    ...toTrailingGap(log, name, file, outcome.trailing),
  ];
  if (file) log.memory.retention.noteFile(file.off);
  await log.record({ type: 'file-ended', stamp, piece: taken.piece, damage }, taken);
  return 'completed';
}

/** The gap of text behind the end of an archive; other bytes there are logged and ignored, as by the command bzip2. */
function toTrailingGap(
  log: FollowedLog,
  name: string,
  file: LogFile | undefined,
  trailing: Trailing | undefined,
): Gap[] {
  if (!trailing) return [];
  const { run, component } = log;
  if (!trailing.isText) {
    run.options.report({ type: 'archive-trailing-ignored', component, file: name, bytes: trailing.bytes });
    return [];
  }
  const from = file && toLastEdge(run.options.router.name, component, file);
  const offset = file?.off ?? 0;
  return [{ certainty: 'certain', reason: 'trailing', from, file: name, offset, bytesMin: trailing.bytes }];
}

/**
 * Finds the begun file whose rest this was, if a part of it is lost that was read before: nothing proves where it goes on, and its lines
 * would come again with other uids. One that begins with another block, because its first one is lost, is the begun file if the lines
 * behind that are not all newer than what was read of it, and its rest is looked for.
 */
function findDamaged(log: FollowedLog, stamp: string, result: ReadingResult): LogFile | undefined {
  if (result.kind === 'damaged') return result.candidate;
  if (result.kind !== 'unrelated' || !result.isHeadLost || result.firstWallAsUtcMs === undefined) return undefined;
  const firstUtcMs = log.run.evidence.zone.toUtc(result.firstWallAsUtcMs, undefined).utcMs;
  const endMs = parseStampUtcMs(stamp) + SLACK_MS;
  // Not the open one: by now, `current` would have shown that it was rotated.
  const looked = log.position.pending.map(({ file }) => file);
  return looked.find(({ lastUtcMs = Number.NaN }) => lastUtcMs >= firstUtcMs && lastUtcMs <= endMs);
}

/** Notes why a rotated file could not be read, with what was read of it; throws when it is not the file's fault. */
async function noteFault(
  log: FollowedLog,
  rotated: RotatedFile,
  cause: unknown,
  kept: TakenLines | undefined,
): Promise<'unfinished' | 'completed'> {
  const code = cause instanceof ArchiveError ? cause.code : undefined;
  const type = code === 'truncated' ? 'archive-unfinished' : 'log-failed';
  log.run.options.report({ type, component: log.component, file: rotated.name, cause });
  const piece = kept?.piece;
  if (!isFileFault(cause) || log.isPutOff(cause)) {
    if (piece) await log.record({ type: 'lines-read', piece }, kept);
    throw cause;
  }
  // Nothing more can be read of a format without blocks that stays damaged.
  const isBeyond = code === 'corrupt' && isBeyondRepair(log.position, rotated.stamp);
  const reason = isBeyond ? 'damaged' : code;
  if (reason === 'too-large' || reason === 'unsupported' || reason === 'damaged') {
    await log.record({ type: 'file-unreadable', rotated, reason, piece }, kept);
    return 'completed';
  }
  await log.record({ type: 'file-failed', stamp: rotated.stamp, fault: toFileFault(cause), piece }, kept);
  return 'unfinished';
}

/** Returns the fault of the requested file that an error stands for. */
function toFileFault(cause: unknown): FileFault {
  if (cause instanceof ArchiveError)
    return cause.code === 'corrupt' ? 'corrupt' : cause.code === 'truncated' ? 'cut' : 'refused';
  return statusOf(cause) === 404 ? 'gone' : 'refused';
}
