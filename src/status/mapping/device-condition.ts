import { matchesStars } from '../../base/index.ts';

/** Facts about a device from its `device_info`. */
export interface DeviceFacts {
  /** Version of the system; `undefined` if not reported. */
  readonly firmware: string | undefined;
  readonly boards: readonly string[];
}

/** Compiles a condition; `undefined` if there is none. An unknown device meets no condition. */
export function compileCondition(
  condition: { readonly firmware?: string | undefined; readonly board?: readonly string[] | undefined } | undefined,
): ((device: DeviceFacts | undefined) => boolean) | undefined {
  if (!condition) return undefined;
  const { firmware, board } = condition;
  const isVersion = firmware === undefined ? () => true : parseVersionRange(firmware);
  return (device) =>
    device !== undefined &&
    isVersion?.(device.firmware) === true &&
    (board === undefined || device.boards.some((one) => board.some((glob) => matchesStars(one, glob))));
}

/** A lower and an upper bound, and two exceptions. */
const BOUNDS_MAX = 4;
const BOUND = /^(<|<=|=|>=|>)(\d{1,9}(?:\.\d{1,9}){0,7})$/;

/** Parses a range of versions such as `>=5.5 <9` into a predicate; `undefined` for any other text. */
export function parseVersionRange(range: string): ((firmware: string | undefined) => boolean) | undefined {
  const parts = range.trim().split(/\s+/);
  const bounds = parts.flatMap((part) => {
    const [, sign = '', version] = BOUND.exec(part) ?? [];
    return version === undefined ? [] : { sign, version: toNumbers(version) };
  });
  if (bounds.length !== parts.length || parts.length > BOUNDS_MAX) return undefined;
  return (firmware) => {
    const found = readVersion(firmware ?? '');
    return found !== undefined && bounds.every(({ sign, version }) => isWithin(compareVersions(found, version), sign));
  };
}

function isWithin(order: number, sign: string): boolean {
  return order === 0 ? sign.endsWith('=') : sign.startsWith(order < 0 ? '<' : '>');
}

/** Firmware versions are short; a router may send anything. Characters. */
const FIRMWARE_LENGTH_MAX = 64;

/** The first dotted numbers, as in `6.1` of `6.1-rc2`. */
function readVersion(text: string): readonly number[] | undefined {
  const [numbers] = /\d{1,9}(?:\.\d{1,9}){0,7}/.exec(text.slice(0, FIRMWARE_LENGTH_MAX)) ?? [];
  return numbers === undefined ? undefined : toNumbers(numbers);
}

/** Compares the numbers in two versions one by one: 1, 0 or -1; `undefined` if one has none. */
export function compareFirmware(one: string, other: string): number | undefined {
  const [first, second] = [readVersion(one), readVersion(other)];
  return first && second && compareVersions(first, second);
}

function toNumbers(version: string): readonly number[] {
  return version.split('.').map(Number);
}

/** Missing numbers are 0. */
function compareVersions(one: readonly number[], other: readonly number[]): number {
  for (let place = 0; place < Math.max(one.length, other.length); place++) {
    const order = (one[place] ?? 0) - (other[place] ?? 0);
    if (order !== 0) return Math.sign(order);
  }
  return 0;
}
