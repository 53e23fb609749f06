import type { Random } from '../base/index.ts';
import { randomChoice, randomHex, randomInteger } from './seeded.ts';

/** One hardware board as `status/device_info` reports it. All values are text, as everywhere in the interface. */
export interface Board {
  readonly board_type: string;
  readonly hardware_features: string;
  readonly hardware_version: string;
  /** Empty for boards without firmware of their own. */
  readonly firmware_version: string;
  /** Empty for boards that carry none. */
  readonly serial_number: string;
}

/** What a router is made of; it never changes while the simulator runs. */
export interface Hardware {
  readonly deviceType: string;
  /** Eight digits, different for every router of a simulator. */
  readonly serial: string;
  /** By slot. The first is the main board: it carries the device's serial number and the version of its system. */
  readonly boards: readonly [Board, ...Board[]];
}

interface Model {
  readonly deviceType: string;
  /** Board types by slot. */
  readonly boards: readonly [string, ...string[]];
}

const MODELS: readonly [Model, ...Model[]] = [
  { deviceType: 'MRX3', boards: ['M3CPU', 'M3PWL', 'M3SWM'] },
  { deviceType: 'MRX5', boards: ['M3CPU', 'M3SWM', 'M3PSQ', 'M3SIO', 'M3PWS'] },
  { deviceType: 'MIRO-L200', boards: ['RMINI'] },
];
const SYSTEM_VERSION = '9.5';
/** Serials of neighbours lie this far apart at least, so that no two are equal. */
const SERIAL_STEP = 97;

/** Creates the hardware of router number `index` (from 0). */
export function createHardware(index: number, random: Random): Hardware {
  const model = index === 0 ? MODELS[0] : randomChoice(random, MODELS);
  const serial = String(16_000_000 + index * SERIAL_STEP + randomInteger(random, 0, SERIAL_STEP - 1));
  const [mainType, ...cardTypes] = model.boards;
  const main = createBoard(mainType, random, SYSTEM_VERSION, serial);
  return {
    deviceType: model.deviceType,
    serial,
    boards: [main, ...cardTypes.map((type) => createBoard(type, random))],
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
