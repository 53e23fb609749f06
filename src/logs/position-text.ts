import { crc32 } from 'node:zlib';
import { createPosition, type Instance, type LogPosition } from './position.ts';

/** A position as text, with a checksum: a position that a damaged disk has changed would be worse than none. */
export function renderPosition(position: LogPosition): string {
  const text = JSON.stringify(position);
  return `${text}\n${crc32(text).toString(16)}`;
}

/**
 * Reads back what {@link renderPosition} wrote, in this version or version 1. Anything else gives `undefined`: then the
 * log is read from its start, with the same uids as before.
 */
export function parsePosition(text: string): LogPosition | undefined {
  const end = text.lastIndexOf('\n');
  const body = end < 0 ? text : text.slice(0, end);
  if (end >= 0 && crc32(body).toString(16) !== text.slice(end + 1)) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    if (!isObject(value)) return undefined;
    if (value['version'] === 1 && end < 0) return migrate(value);
    // What this program has written and the checksum covers has the shape that it had.
    if (value['version'] !== 2 || end < 0) return undefined;
    const position = { ...createPosition(), ...(value as unknown as LogPosition) };
    if (!('openGaps' in value)) forgetEnds(position);
    return position;
  } catch {
    return undefined;
  }
}

/** Before gaps had ends, nobody noted which line was read first behind a file that is missing: it is not the next one. */
function forgetEnds({ pending, waiting }: LogPosition): void {
  for (const entry of pending) if (entry.isOvertaken) entry.to = null;
  for (const entry of Object.values(waiting)) if (entry.attempts > 0 && !entry.isBackfill) entry.to = null;
}

/** Version 1 had no checksum, so every field is looked at. */
function migrate(value: Readonly<Record<string, unknown>>): LogPosition | undefined {
  const { open, pending, lost, waiting, completed, hasHistory } = value;
  const isWhole =
    (open === undefined || isInstance(open)) &&
    isListOf(pending, (entry) => isObject(entry) && isInstance(entry['instance']) && isMoment(entry['sinceMs'])) &&
    isListOf(lost, isInstance) &&
    isMapOf(waiting, (entry) => isObject(entry) && isMoment(entry['sinceMs']) && isCount(entry['attempts'])) &&
    isMapOf(completed, isInstance) &&
    typeof hasHistory === 'boolean';
  if (!isWhole) return undefined;
  const position = createPosition();
  position.hasHistory = hasHistory;
  position.open = open === undefined ? undefined : liftInstance(open as InstanceV1);
  position.pending = (pending as PendingV1[]).map(({ instance, sinceMs, isOvertaken }) => ({
    instance: liftInstance(instance),
    sinceMs,
    isOvertaken,
    isRotated: false,
    isPassed: false,
  }));
  position.lost = (lost as InstanceV1[]).map(liftInstance);
  for (const [stamp, { sinceMs, attempts }] of Object.entries(waiting as Record<string, WaitingV1>)) {
    position.waiting[stamp] = { sinceMs, attempts, fault: undefined, notBeforeMs: 0, isBackfill: false };
  }
  for (const [stamp, instance] of Object.entries(completed as Record<string, InstanceV1>)) {
    position.completed[stamp] = instance.key === '' ? null : liftInstance(instance);
  }
  forgetEnds(position);
  return position;
}

type InstanceV1 = Omit<Instance, 'proof' | 'shownMs' | 'tornAt'> & { readonly prefixSha: string };
interface PendingV1 {
  readonly instance: InstanceV1;
  readonly sinceMs: number;
  readonly isOvertaken: boolean;
}
interface WaitingV1 {
  readonly sinceMs: number;
  readonly attempts: number;
}

function liftInstance({ prefixSha, ...instance }: InstanceV1): Instance {
  const { key, gen, off, firstUtcMs, lastUtcMs, lastStart } = instance;
  return {
    key,
    gen,
    off,
    firstUtcMs,
    lastUtcMs,
    lastStart,
    proof: { plainSha: prefixSha },
    shownMs: lastUtcMs,
    tornAt: [],
  };
}

function isInstance(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value['key'] === 'string' &&
    isCount(value['gen']) &&
    isCount(value['off']) &&
    typeof value['prefixSha'] === 'string' &&
    (value['firstUtcMs'] === undefined || isMoment(value['firstUtcMs'])) &&
    (value['lastUtcMs'] === undefined || isMoment(value['lastUtcMs'])) &&
    isCount(value['lastStart'])
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

function isMapOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(isEntry);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** A number of milliseconds that a date can be made of. */
function isMoment(value: unknown): boolean {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}
