import { readDevice, readFirmwareVersion, readSerialNumber } from './known-fields.ts';
import type { DeviceFacts } from './mapping/device-condition.ts';
import type { PollerState } from './poller-state.ts';

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
