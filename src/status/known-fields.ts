import type { DeviceFacts } from './mapping/device-condition.ts';
import { RowPath, toPlainText } from './mapping/rows.ts';
import { parseDateText } from './values/parse-date-text.ts';

const BOARDS = new RowPath('status.list');
/** More than a device has slots. */
const BOARDS_MAX = 32;
const SINGLE_VALUES = new RowPath('status.unique');

/** Returns the serial number in a `device_info`: that of the main board is the device's. */
export function readSerialNumber(document: unknown): string | undefined {
  return readField(document, BOARDS, 'serial_number');
}

/** Returns firmware and boards in a `device_info`. */
export function readDevice(document: unknown): DeviceFacts {
  const boards = (BOARDS.find(document)?.rows ?? [])
    .slice(0, BOARDS_MAX)
    .flatMap((row) => toText(row.read('board_type')) ?? []);
  // The first board is the main board; its version is the system's. Copied, because a grown array reserves memory for sixteen more items.
  return { firmware: readField(document, BOARDS, 'firmware_version'), boards: boards.slice() };
}

/** Returns the hash of the running configuration in a `sysdetail/system`. */
export function readSystemHash(document: unknown): string | undefined {
  return readField(document, SINGLE_VALUES, 'hash');
}

/**
 * Returns the local time in a `sysdetail/system` as if it were UTC, in milliseconds since the Unix epoch. `undefined` if there is none,
 * if it has no time of day, or if it names its zone, which need not be the zone of the router's log lines. `nearMs`: approximate time of
 * reading, for forms without a year.
 */
function readSystemWallMs(document: unknown, nearMs: number): number | undefined {
  const text = readField(document, SINGLE_VALUES, 'date');
  const date = text === undefined ? undefined : parseDateText(text, { readAtMs: nearMs, zone: undefined });
  return date?.isZoneAssumed && date.hasTime ? date.utcMs : undefined;
}

/** Status resource that contains the router's local time. */
export const TIME_RESOURCE = 'sysdetail/system';

/** An answer for {@link TIME_RESOURCE}. */
interface DatedDocument {
  readonly body: unknown;
  /** Time in the header of the answer. */
  readonly dateMs: number | undefined;
}

/** Reads a router's time; `undefined` unless the answer has both times. Throws what `source` throws. */
export async function readRouterTime(
  source: { readDatedStatus(resource: string, signal: AbortSignal): Promise<DatedDocument> },
  signal: AbortSignal,
): Promise<{ readonly wallAsUtcMs: number; readonly utcMs: number } | undefined> {
  return toRouterTime(await source.readDatedStatus(TIME_RESOURCE, signal));
}

/** Returns a router's time, local from the body and UTC from the header; `undefined` unless the answer has both. */
export function toRouterTime({ body, dateMs }: DatedDocument) {
  const wallAsUtcMs = dateMs === undefined ? undefined : readSystemWallMs(body, dateMs);
  return dateMs === undefined || wallAsUtcMs === undefined ? undefined : { wallAsUtcMs, utcMs: dateMs };
}

/** Returns a field of the first row; `undefined` if it is absent or empty. */
function readField(document: unknown, path: RowPath, name: string): string | undefined {
  return toText(path.find(document)?.rows[0]?.read(name));
}

function toText(value: unknown): string | undefined {
  const plain = toPlainText(value);
  return plain && 'text' in plain && plain.text !== '' ? plain.text : undefined;
}
