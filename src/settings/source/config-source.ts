import type { Aim, KeyPath, Locator, Position } from './fault.ts';
import { Positions, type PositionTable } from './positions.ts';

/** A parsed file: its value, and the position of each part. */
export class ConfigSource implements Locator {
  /** Content of the file before the environment is substituted. */
  readonly value: unknown;
  readonly #positions: Positions;

  constructor({ value, positions }: { readonly value: unknown; readonly positions: PositionTable }) {
    this.value = value;
    this.#positions = new Positions(positions);
  }

  /** Returns the value at `path`; `undefined` if there is none. */
  valueAt(path: KeyPath): unknown {
    let value = this.value;
    for (const step of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      value = Reflect.get(value, step);
    }
    return value;
  }

  /** Finds the deepest part of `path` that exists: a missing key is located at the map that lacks it. */
  locate(path: KeyPath, aim: Aim): Position {
    return this.#positions.locate(path, aim);
  }
}
