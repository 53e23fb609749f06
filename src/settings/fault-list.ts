import { type Aim, type ConfigFault, type KeyPath, type Locator, renderKeyPath } from './fault.ts';

interface FaultOptions {
  /** `value` by default. */
  readonly aim?: Aim;
  readonly nearest?: string | undefined;
  /** Leaves the last step of the path out of what is shown, because it may be a secret. */
  readonly isKeyHidden?: boolean;
}

/** Collects faults while a file is checked. */
export class FaultList {
  readonly #file: string;
  readonly #locator: Locator;
  readonly #faults = new Map<string, ConfigFault>();
  readonly #paths = new Set<string>();

  /** `known` are faults found before, which {@link covers} knows nothing of. */
  constructor(file: string, locator: Locator, known: readonly ConfigFault[]) {
    this.#file = file;
    this.#locator = locator;
    for (const fault of known) this.#keep(fault);
  }

  get size(): number {
    return this.#faults.size;
  }

  /** Adds a fault. One that several routers inherit from the same place is kept once. */
  add(path: KeyPath, message: string, options: FaultOptions = {}): void {
    const { line, column } = this.#locator.locate(path, options.aim ?? 'value');
    const keyPath = renderKeyPath(options.isKeyHidden ? [...path.slice(0, -1), '…'] : path);
    const { nearest } = options;
    this.#paths.add(JSON.stringify(path));
    this.#keep({ file: this.#file, line, column, keyPath, message, ...(nearest === undefined ? {} : { nearest }) });
  }

  /** Tells whether the value at `path`, or one that holds it, is already known to be faulty. */
  covers(path: KeyPath): boolean {
    return path.some((_, index) => this.#paths.has(JSON.stringify(path.slice(0, index + 1))));
  }

  /** Tells whether the value at `path`, or a part of it, is already known to be faulty. */
  touches(path: KeyPath): boolean {
    if (path.length === 0) return this.#paths.size > 0;
    const prefix = JSON.stringify(path).slice(0, -1);
    return [...this.#paths].some((known) => known.startsWith(prefix) && /^[,\]]/.test(known.slice(prefix.length)));
  }

  /** The faults in the order of the file. */
  toSorted(): ConfigFault[] {
    return [...this.#faults.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  }

  #keep(fault: ConfigFault): void {
    this.#faults.set(`${fault.line}:${fault.column}:${fault.keyPath}:${fault.message}`, fault);
  }
}
