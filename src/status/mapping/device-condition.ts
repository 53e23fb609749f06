import { matchesStars } from '../../base/index.ts';
import { parseVersionRange } from '../module-settings/grammar.ts';
import type { DeviceCondition } from '../module-settings/module-definition.ts';

/** Facts about a device from its `device_info`. */
export interface DeviceFacts {
  /** Version of the system; `undefined` if it says none. */
  readonly firmware: string | undefined;
  /** Types of its boards. */
  readonly boards: readonly string[];
}

/** Decides whether a router is one of those that a part of a module is for. */
export type DeviceTest = (device: DeviceFacts | undefined) => boolean;

/** Compiles a condition; `undefined` if there is none. A router of which nothing is known meets no condition. */
export function compileCondition(condition: DeviceCondition | undefined): DeviceTest | undefined {
  if (!condition) return undefined;
  const { firmware, board } = condition;
  const isVersion = firmware === undefined ? () => true : compileVersions(firmware);
  return (device) =>
    device !== undefined &&
    isVersion(device.firmware) &&
    (board === undefined || device.boards.some((one) => board.some((glob) => matchesStars(one, glob))));
}

function compileVersions(range: string): (firmware: string | undefined) => boolean {
  const bounds = parseVersionRange(range) ?? [];
  return (firmware) => {
    const version = firmware === undefined ? undefined : readVersion(firmware);
    return (
      version !== undefined && bounds.every((bound) => isWithin(compareVersions(version, bound.version), bound.is))
    );
  };
}

function isWithin(order: number, is: '<' | '<=' | '=' | '>=' | '>'): boolean {
  if (order === 0) return is !== '<' && is !== '>';
  return order < 0 ? is === '<' || is === '<=' : is === '>' || is === '>=';
}

/** Texts of firmwares are short; a router may send anything. Characters. */
const FIRMWARE_LENGTH_MAX = 64;

/** Reads the first numbers with dots between them, as in `6.1` of `6.1-rc2`; `undefined` if there are none. */
function readVersion(text: string): readonly number[] | undefined {
  const [numbers] = /\d{1,9}(?:\.\d{1,9}){0,7}/.exec(text.slice(0, FIRMWARE_LENGTH_MAX)) ?? [];
  return numbers?.split('.').map(Number);
}

/** Compares number by number; what one of them lacks is 0. */
function compareVersions(one: readonly number[], other: readonly number[]): number {
  for (let place = 0; place < Math.max(one.length, other.length); place++) {
    const order = (one[place] ?? 0) - (other[place] ?? 0);
    if (order !== 0) return Math.sign(order);
  }
  return 0;
}
