import { toPlainText } from './mapping/plain-text.ts';
import { RowPath } from './mapping/rows.ts';

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

/** A field of the first row; `undefined` when it is absent or empty. */
function readField(document: unknown, path: RowPath, name: string): string | undefined {
  const plain = toPlainText(path.find(document)?.rows[0]?.read(name));
  return plain && 'text' in plain && plain.text !== '' ? plain.text : undefined;
}
