import type { DeviceFacts } from './mapping/device-condition.ts';
import { RowPath, toPlainText } from './mapping/rows.ts';
import { parseDateText } from './values/parse-date-text.ts';

const BOARDS = new RowPath('status.list');
/** More than a device has slots. */
const BOARDS_MAX = 32;
const SINGLE_VALUES = new RowPath('status.unique');

/** Returns the system's version in a `device_info`: that of the main board, which is the first one. */
export function readFirmwareVersion(document: unknown): string | undefined {
  return readField(document, BOARDS, 'firmware_version');
}

/** Returns the serial number in a `device_info`: the main board's is that of the device. */
export function readSerialNumber(document: unknown): string | undefined {
  return readField(document, BOARDS, 'serial_number');
}

/** Returns what a router says in a `device_info` that it is. */
export function readDevice(document: unknown): DeviceFacts {
  const boards = (BOARDS.find(document)?.rows ?? [])
    .slice(0, BOARDS_MAX)
    .flatMap((row) => toText(row.read('board_type')) ?? []);
  // Copied, because what grew has room for sixteen more.
  return { firmware: readFirmwareVersion(document), boards: boards.slice() };
}

/** Returns the hash of the running configuration in a `sysdetail/system`. */
export function readSystemHash(document: unknown): string | undefined {
  return readField(document, SINGLE_VALUES, 'hash');
}

/**
 * Returns the local time in a `sysdetail/system` as if it were UTC, in milliseconds since the Unix epoch. `undefined`
 * if there is none, if it is a day without a time, or if it names its zone: that zone need not be the one of the router's
 * log lines. `nearMs`:
 * approximate time of reading, for forms without a year.
 */
export function readSystemWallMs(document: unknown, nearMs: number): number | undefined {
  const text = readField(document, SINGLE_VALUES, 'date');
  const date = text === undefined ? undefined : parseDateText(text, { readAtMs: nearMs, zone: undefined });
  return date?.isZoneAssumed && date.hasTime ? date.utcMs : undefined;
}

/** Returns a field of the first row; `undefined` if it is absent or empty. */
function readField(document: unknown, path: RowPath, name: string): string | undefined {
  return toText(path.find(document)?.rows[0]?.read(name));
}

function toText(value: unknown): string | undefined {
  const plain = toPlainText(value);
  return plain && 'text' in plain && plain.text !== '' ? plain.text : undefined;
}
