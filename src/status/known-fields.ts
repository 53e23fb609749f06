import { toPlainText } from './mapping/plain-text.ts';
import { RowPath } from './mapping/rows.ts';
import { parseDateText } from './values/parse-date-text.ts';

const BOARDS = new RowPath('status.list');
const SINGLE_VALUES = new RowPath('status.unique');

/** The version of the system in a `device_info`: that of the main board, which is the first one. */
export function readFirmwareVersion(document: unknown): string | undefined {
  return readField(document, BOARDS, 'firmware_version');
}

/** The serial number in a `device_info`: that of the main board is the device's. */
export function readSerialNumber(document: unknown): string | undefined {
  return readField(document, BOARDS, 'serial_number');
}

/** The hash of the running configuration in a `sysdetail/system`. */
export function readSystemHash(document: unknown): string | undefined {
  return readField(document, SINGLE_VALUES, 'hash');
}

/**
 * The local time in a `sysdetail/system`, as if it were UTC; milliseconds since the Unix epoch. `undefined` when there is
 * none, or when it says of which zone it is: then it need not be that of the router's log lines. `nearMs`: about when it was
 * read, for forms without a year.
 */
export function readSystemWallMs(document: unknown, nearMs: number): number | undefined {
  const text = readField(document, SINGLE_VALUES, 'date');
  const date = text === undefined ? undefined : parseDateText(text, { readAtMs: nearMs, zone: undefined });
  return date?.isZoneAssumed === true ? date.utcMs : undefined;
}

/** A field of the first row; `undefined` when it is absent or empty. */
function readField(document: unknown, path: RowPath, name: string): string | undefined {
  const plain = toPlainText(path.find(document)?.rows[0]?.read(name));
  return plain && 'text' in plain && plain.text !== '' ? plain.text : undefined;
}
