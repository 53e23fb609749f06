import { ArchiveError, type Trailing } from '../archive/index.ts';
import { isFileFault, toFileFault } from '../errors.ts';
import { type Gap, toDamageGap } from '../event-records.ts';
import type { FileReader, TakenLines } from '../file-reader.ts';
import type { ScanResult } from '../file-scan.ts';
import { parseStampUtcMs, type RotatedFile } from '../names.ts';
import { type LogFile, toLastEdge } from '../position/position.ts';
import { isBeyondRepair, isSameFile, listBegun, listRemembered } from '../tracker/state.ts';
import type { TrackedLog } from './tracked-log.ts';

/** The reading of one rotated file. */
export interface RotatedReading {
  /** The log that the file belongs to. */
  readonly log: TrackedLog;
  /** Reads the files of this log. */
  readonly reader: FileReader;
  /** The file as it is listed. */
  readonly rotated: RotatedFile;
  /** `begun`: only the rest of a file that was begun is wanted. */
  readonly wanted: 'begun' | 'any';
  /** Lines are made durable in pieces of about this size. Bytes of log text. */
  readonly batchBytes: number;
}

/** A file is rotated after its last line; of several processes, that may be stamped a little later. Milliseconds. */
const SLACK_MS = 5000;

/** `completed`: done with. `unfinished`: to be tried again later. `deferred`: it may not be read yet. */
export type RotatedOutcome = 'completed' | 'unrelated' | 'deferred' | 'unfinished';

/** Reads one rotated file to its end, or finds out why that is not possible now. */
export async function readRotated(reading: RotatedReading, signal: AbortSignal): Promise<RotatedOutcome> {
  const { log, reader, rotated, wanted, batchBytes } = reading;
  const { name, stamp } = rotated;
  const acceptsNew = wanted === 'any';
  const candidates = (): LogFile[] => (acceptsNew ? listRemembered(log.position) : listBegun(log.position));
  const outcome = await reader.read({ name, stamp, candidates, acceptsNew, batchBytes }, signal);
  if (outcome.kind === 'failed') return await noteFault(log, rotated, outcome.cause, outcome.kept);
  if (outcome.kind === 'unchanged' || !outcome.scan) return 'unfinished';
  const { scan, result } = outcome;
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
  const taken = reader.take(scan, stamp);
  const { file } = taken.piece;
  const damage = [
    ...scan.lost.map((lost) => toDamageGap(lost, name, undefined)),
    ...toTrailingGap(log, name, file, outcome.trailing),
  ];
  if (file) log.memory.retention.noteFile(file.off);
  await log.record({ type: 'file-ended', stamp, piece: taken.piece, damage }, taken);
  return 'completed';
}

/** The gap of text behind the end of an archive; other bytes there are logged and ignored, as by the command bzip2. */
function toTrailingGap(
  log: TrackedLog,
  name: string,
  file: LogFile | undefined,
  trailing: Trailing | undefined,
): Gap[] {
  if (!trailing) return [];
  const { context, component } = log;
  if (!trailing.isText) {
    context.report({ type: 'archive-trailing-ignored', component, file: name, bytes: trailing.bytes });
    return [];
  }
  const from = file && toLastEdge(context.router.name, component, file);
  const offset = file?.off ?? 0;
  return [{ certainty: 'certain', reason: 'trailing', from, file: name, offset, bytesMin: trailing.bytes }];
}

/**
 * Finds the begun file whose rest this was, if a part of it is lost that was read before: nothing proves where it goes on, and its lines
 * would come again with other uids. One that begins with another block, because its first one is lost, is the begun file if the lines
 * behind that are not all newer than what was read of it, and its rest is looked for.
 */
function findDamaged(log: TrackedLog, stamp: string, result: ScanResult): LogFile | undefined {
  if (result.kind === 'damaged') return result.candidate;
  if (result.kind !== 'unrelated' || !result.isHeadLost || result.firstWallAsUtcMs === undefined) return undefined;
  const firstUtcMs = log.context.zone.toUtc(result.firstWallAsUtcMs, undefined).utcMs;
  const endMs = parseStampUtcMs(stamp) + SLACK_MS;
  // Not the open one: by now, `current` would have shown that it was rotated.
  const looked = log.position.pending.map(({ file }) => file);
  return looked.find(({ lastUtcMs = Number.NaN }) => lastUtcMs >= firstUtcMs && lastUtcMs <= endMs);
}

/** Notes why a rotated file could not be read, with what was read of it; throws when it is not the file's fault. */
async function noteFault(
  log: TrackedLog,
  rotated: RotatedFile,
  cause: unknown,
  kept: TakenLines | undefined,
): Promise<'unfinished' | 'completed'> {
  const code = cause instanceof ArchiveError ? cause.code : undefined;
  const type = code === 'truncated' ? 'archive-unfinished' : 'log-failed';
  log.context.report({ type, component: log.component, file: rotated.name, cause });
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
