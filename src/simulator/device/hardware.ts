import type { Random } from '../../base/index.ts';
import { randomHex, randomInteger } from '../seeded.ts';

/** One board as in `status/device_info`. All values are strings, as everywhere in the interface. */
interface Board {
  readonly board_type: string;
  readonly hardware_features: string;
  readonly hardware_version: string;
  /** Empty for boards without their own firmware. */
  readonly firmware_version: string;
  /** Empty for boards without one. */
  readonly serial_number: string;
}

/** Firmware versions in the fleet; they differ in the values they report and in their formats. */
export type Firmware = '9.5' | '6.1' | '5.5';

/** Hardware of a router; it never changes while the simulator runs. */
export interface Hardware {
  readonly deviceType: string;
  readonly firmware: Firmware;
  /** Eight digits, different for every router of a simulator. */
  readonly serial: string;
  /** By slot. The first is the main board, with the device's serial number and system version. */
  readonly boards: readonly [Board, ...Board[]];
  /** Status resources of the cards: `ethernet1`, `lte2`. */
  readonly cards: readonly string[];
  /** Their names in the configuration: a modem is `lte2` whatever its card. */
  readonly interfaces: readonly string[];
}

interface Model {
  readonly deviceType: string;
  /** Board types by slot. */
  readonly boards: readonly [string, ...string[]];
  readonly cards: readonly string[];
}

const MODELS: readonly [Model, ...Model[]] = [
  {
    deviceType: 'MRX3',
    boards: ['M3CPU', 'M3PWL', 'M3SWM'],
    cards: ['ethernet1', 'lte2', 'power2', 'ethernet3'],
  },
  { deviceType: 'MRO-L200', boards: ['RMINI'], cards: ['ethernet1', 'lte_serial2', 'serial2'] },
  {
    deviceType: 'MRX5',
    boards: ['M3CPU', 'M3PSQ', 'M3SWM', 'M3SIO', 'M3PWS'],
    cards: ['ethernet1', 'lte2', 'ethernet3', 'sio4', 'serial4', 'power5'],
  },
  { deviceType: 'MIRO-L200', boards: ['RMINI'], cards: ['ethernet1', 'lte2', 'io2'] },
  { deviceType: 'ECR-LW300', boards: ['RMINI'], cards: ['ethernet1', 'lte2', 'wlan1', 'io3'] },
  {
    deviceType: 'MRX5',
    boards: ['M3CPU', 'M3PWL', 'M3SFP', 'M3ADI', 'M3DSL'],
    cards: ['ethernet1', 'lte2', 'power2', 'sfp3', 'adio4', 'dsl5'],
  },
];
const FIRMWARES: readonly [Firmware, ...Firmware[]] = ['9.5', '6.1', '5.5', '9.5'];
/** Minimum distance between neighbouring serial numbers, so that all are different. */
const SERIAL_STEP = 97;

/** Creates the hardware of router number `index` (from 0). Models and firmwares alternate, so that a few routers cover all. */
export function createHardware(index: number, random: Random): Hardware {
  const model = MODELS[index % MODELS.length] ?? MODELS[0];
  // The shift combines every model with every firmware, although the two counts have a common divisor.
  const firmware = FIRMWARES[(index + Math.floor(index / MODELS.length)) % FIRMWARES.length] ?? FIRMWARES[0];
  const serial = String(16_000_000 + index * SERIAL_STEP + randomInteger(random, 0, SERIAL_STEP - 1));
  const [mainType, ...cardTypes] = model.boards;
  const main = createBoard(mainType, random, firmware, serial);
  return {
    deviceType: model.deviceType,
    firmware,
    serial,
    boards: [main, ...cardTypes.map((type) => createBoard(type, random))],
    cards: model.cards,
    interfaces: model.cards.map((card) => card.replace('lte_serial', 'lte')),
  };
}

function createBoard(type: string, random: Random, firmwareVersion = '', serialNumber = ''): Board {
  return {
    board_type: type,
    hardware_features: randomHex(random, 8),
    hardware_version: String(randomInteger(random, 1, 4)),
    firmware_version: firmwareVersion,
    serial_number: serialNumber,
  };
}
