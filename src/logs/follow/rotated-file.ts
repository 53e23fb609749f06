import type { Trailing } from '../archive/decode.ts';
import { parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import { type Gap, toDamageGap } from '../position/gap.ts';
import { type FileFault, type LogFile, toLastEdge } from '../position/position.ts';
import { ArchiveError, isFileFault, statusOf } from '../reading/errors.ts';
import type { ReadingResult } from '../reading/file-reading.ts';
import { isSameFile, listBegun, listRemembered, skipsDamage } from '../step/state.ts';
import type { FileReader } from './file-reader.ts';
import type { FollowedLog, TakenLines } from './followed-log.ts';

/** A file is rotated after its last line. With several processes, the stamp may be slightly later. Milliseconds. */
const SLACK_MS = 5000;

/** `unfinished`: retried later. `deferred`: may not be read yet. */
type RotatedOutcome = 'completed' | 'unrelated' | 'deferred' | 'unfinished';

/** Reads one rotated file to its end, or records why not. `begun`: only the rest of a file read in part. */
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
  if (outcome.kind === 'failed') return await recordFault(log, rotated, outcome.cause, outcome.kept);
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
    // The file was rotated, so `current` is another file.
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
  if (file) log.memory.retention.recordFile(file.off);
  await log.record({ type: 'file-ended', stamp, piece: taken.piece, damage }, taken);
  return 'completed';
}

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
 * Finds the file read in part to which a damaged archive belongs. If a part read before is damaged, nothing proves
 * where to continue, and its lines would come again with other uids. If the first block is damaged, the file matches
 * when its lines after the damage are not all newer than what was read.
 */
function findDamaged(log: FollowedLog, stamp: string, result: ReadingResult): LogFile | undefined {
  if (result.kind === 'damaged') return result.candidate;
  if (result.kind !== 'unrelated' || !result.isHeadLost || result.firstWallAsUtcMs === undefined) return undefined;
  const firstUtcMs = log.run.evidence.zone.toUtc(result.firstWallAsUtcMs, undefined).utcMs;
  const endMs = parseStampUtcMs(stamp) + SLACK_MS;
  // Without the open file: `current` would have shown its rotation.
  const looked = log.position.pending.map(({ file }) => file);
  return looked.find(({ lastUtcMs = Number.NaN }) => lastUtcMs >= firstUtcMs && lastUtcMs <= endMs);
}

async function recordFault(
  log: FollowedLog,
  rotated: RotatedFile,
  cause: unknown,
  kept: TakenLines | undefined,
): Promise<'unfinished' | 'completed'> {
  const code = cause instanceof ArchiveError ? cause.code : undefined;
  const type = code === 'truncated' ? 'archive-unfinished' : 'log-failed';
  log.run.options.report({ type, component: log.component, file: rotated.name, cause });
  const piece = kept?.piece;
  if (!isFileFault(cause) || log.isRouterBusy(cause)) {
    if (piece) await log.record({ type: 'lines-read', piece }, kept);
    throw cause;
  }
  // Formats without blocks cannot be read beyond the damage.
  const isDamaged = code === 'corrupt' && skipsDamage(log.position, rotated.stamp);
  const reason = isDamaged ? 'damaged' : code;
  if (reason === 'too-large' || reason === 'unsupported' || reason === 'damaged') {
    await log.record({ type: 'file-unreadable', rotated, reason, piece }, kept);
    return 'completed';
  }
  await log.record({ type: 'file-failed', stamp: rotated.stamp, fault: toFileFault(cause), piece }, kept);
  return 'unfinished';
}

function toFileFault(cause: unknown): FileFault {
  if (cause instanceof ArchiveError)
    return cause.code === 'corrupt' ? 'corrupt' : cause.code === 'truncated' ? 'cut' : 'refused';
  return statusOf(cause) === 404 ? 'gone' : 'refused';
}
