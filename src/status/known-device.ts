import { readDevice, readFirmwareVersion, readModel, readSerialNumber } from './known-fields.ts';
import type { DeviceFacts } from './mapping/device-condition.ts';
import type { PollerState } from './poller-state.ts';

type Identity = Pick<PollerState, 'firmware' | 'serial'>;

/** The effect of a `device_info` on what is remembered of a router. */
export interface DeviceChange {
  /** True if it is another device than before, or has another firmware. */
  readonly hasChanged: boolean;
  /** True if the router lacks, as far as is known, what others of its model lack. */
  readonly mayGuess: boolean;
}

/** The device behind a router's address, as it describes itself in `device_info`. Only {@link learn} changes it. */
export class KnownDevice {
  /** Facts about the device, for conditions; `undefined` until they are known. */
  facts: DeviceFacts | undefined;
  /** Its model; `undefined` before it is known. */
  model: string | undefined;
  /** Last firmware version that it has reported. */
  firmware: string | undefined;
  /** Last serial number that it has reported. */
  serial: string | undefined;
  /** The device that the memory is of: as it was read, or as an earlier poller knew it. */
  remembered: Identity;
  /** True if nothing is known of the router but what it has answered, so that its model may tell more. */
  isNew: boolean;

  /** `remembered`: as an earlier poller knew it. */
  constructor(remembered: Identity) {
    this.remembered = remembered;
    this.isNew = remembered.firmware === undefined && remembered.serial === undefined;
  }

  /** Learns from a `device_info`. */
  learn(document: unknown): DeviceChange {
    this.facts = readDevice(document);
    this.model = readModel(document);
    const [firmware, serial] = [readFirmwareVersion(document), readSerialNumber(document)];
    const before = this.remembered;
    const isReplaced = isOther(before.serial, serial);
    const hasChanged = isReplaced || isOther(before.firmware, firmware);
    this.remembered = { firmware: firmware ?? before.firmware, serial: serial ?? before.serial };
    this.serial = serial ?? this.serial;
    this.firmware = firmware ?? this.firmware;
    // Of a replaced device nothing is guessed: its predecessor may be all that is known of the model.
    const mayGuess = !isReplaced && (this.isNew || hasChanged);
    this.isNew = false;
    return { hasChanged, mayGuess };
  }
}

/** Returns true if both texts are known and differ. */
function isOther(before: string | undefined, now: string | undefined): boolean {
  return before !== undefined && now !== undefined && before !== now;
}
