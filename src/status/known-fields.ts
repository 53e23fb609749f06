import type { DeviceFacts } from './mapping/device-condition.ts';
import { RowPath, toPlainText } from './mapping/rows.ts';
import type { PollerState } from './poller-state.ts';
import { parseDateText } from './values/parse-date-text.ts';

type Identity = Pick<PollerState, 'firmware' | 'serial'>;

/** The device behind a router's address, as it describes itself in `device_info`. Only {@link learn} changes it. */
export class KnownDevice {
  /** Facts about the device, for conditions; `undefined` until they are known. */
  facts: DeviceFacts | undefined;
  /** Last firmware version that it has reported. */
  firmware: string | undefined;
  /** Last serial number that it has reported. */
  serial: string | undefined;
  /** The device that the memory is of: as it was read, or as an earlier poller knew it. */
  remembered: Identity;

  /** `remembered`: as an earlier poller knew it. */
  constructor(remembered: Identity) {
    this.remembered = remembered;
  }

  /** Learns from a `device_info`. Returns true if it is another device than before, or has another firmware. */
  learn(document: unknown): boolean {
    this.facts = readDevice(document);
    const [firmware, serial] = [readFirmwareVersion(document), readSerialNumber(document)];
    const before = this.remembered;
    this.remembered = { firmware: firmware ?? before.firmware, serial: serial ?? before.serial };
    this.serial = serial ?? this.serial;
    this.firmware = firmware ?? this.firmware;
    return isOther(before.serial, serial) || isOther(before.firmware, firmware);
  }
}

/** Returns true if both texts are known and differ. */
function isOther(before: string | undefined, now: string | undefined): boolean {
  return before !== undefined && now !== undefined && before !== now;
}

const BOARDS = new RowPath('status.list');
/** More than a device has slots. */
const BOARDS_MAX = 32;
const SINGLE_VALUES = new RowPath('status.unique');

/** Returns the system's version in a `device_info`: that of the main board, which is the first one. */
function readFirmwareVersion(document: unknown): string | undefined {
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
