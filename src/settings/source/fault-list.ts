import { type Aim, type ConfigFault, type KeyPath, type Locator, renderKeyPath } from './fault.ts';
import { FAULTS_MAX } from './parse-source.ts';

/** Number of warnings of a file that are kept: it may name thousands of others. */
const WARNINGS_MAX = 20;
/** Number of kept faults, of one file or of several together. */
export interface FaultCount {
  kept: number;
}

interface FaultOptions {
  /** `value` by default. */
  readonly aim?: Aim;
  readonly nearest?: string | undefined;
  /** Leaves the last step of the path out of what is shown, because it may be a secret. */
  readonly isKeyHidden?: boolean;
}

/** Collects faults while a file is checked; those beyond a thousand are only counted. */
export class FaultList {
  readonly #file: string;
  readonly #locator: Locator;
  readonly #faults = new Map<string, ConfigFault>();
  readonly #paths = new Set<string>();
  readonly #warnings: ConfigFault[] = [];
  readonly #count: FaultCount;
  /** Faults that were not kept. */
  #unkept = 0;
  #end: ConfigFault | undefined;
  #more = 0;

  /** `known` are the faults of parsing, which {@link covers} ignores; lists with the same `count` are full together. */
  constructor(file: string, locator: Locator, known: readonly ConfigFault[], count: FaultCount = { kept: 0 }) {
    this.#file = file;
    this.#locator = locator;
    this.#count = count;
    for (const fault of known) this.#keep(fault);
  }

  get size(): number {
    return this.#faults.size + this.#unkept;
  }

  /** True if the file has so many faults that it is not checked further. */
  get isFull(): boolean {
    return this.#count.kept >= FAULTS_MAX;
  }

  /** Adds a fault. A fault that several routers inherit from `defaults` is kept once. */
  add(path: KeyPath, message: string, options: FaultOptions = {}): void {
    const { line, column } = this.#locator.locate(path, options.aim ?? 'value');
    const keyPath = renderKeyPath(options.isKeyHidden ? [...path.slice(0, -1), '…'] : path);
    const { nearest } = options;
    this.#paths.add(JSON.stringify(path));
    this.#keep({ file: this.#file, line, column, keyPath, message, ...(nearest === undefined ? {} : { nearest }) });
  }

  /** Adds, once, that the file is not checked from here on, because the list {@link isFull}. */
  end(path: KeyPath): void {
    const message = 'The file has so many faults that it was not checked from here on';
    this.#end ??= { file: this.#file, ...this.#locator.locate(path, 'value'), keyPath: renderKeyPath(path), message };
  }

  /** Runs work, takes back the faults that it has added to this list, and returns them. */
  attempt<Result>(work: () => Result): { readonly result: Result; readonly faults: readonly ConfigFault[] } {
    const [known, paths, unkept] = [this.#faults.size, this.#paths.size, this.#unkept];
    const result = work();
    const added = this.#faults.size > known ? [...this.#faults].slice(known) : [];
    for (const [key] of added) this.#faults.delete(key);
    this.#count.kept -= added.length;
    this.#unkept = unkept;
    if (this.#paths.size > paths) for (const path of [...this.#paths].slice(paths)) this.#paths.delete(path);
    return { result, faults: added.map(([, fault]) => fault) };
  }

  /** Adds a warning; those beyond twenty are only counted. */
  warn(path: KeyPath, message: string): void {
    const warning = { file: this.#file, ...this.#locator.locate(path, 'value'), keyPath: renderKeyPath(path), message };
    if (this.#warnings.length < WARNINGS_MAX) this.#warnings.push(warning);
    else this.#more++;
  }

  get warnings(): readonly ConfigFault[] {
    if (this.#more === 0) return this.#warnings;
    const message = `There are ${this.#more} more warnings of this kind`;
    return [...this.#warnings, { file: this.#file, line: 1, column: 1, keyPath: '', message }];
  }

  /** True if the value at `path`, or a value that contains it, already has a fault. */
  covers(path: KeyPath): boolean {
    if (this.#paths.size === 0) return false;
    return path.some((_, index) => this.#paths.has(JSON.stringify(path.slice(0, index + 1))));
  }

  /** True if the value at `path`, or a part of it, already has a fault. */
  touches(path: KeyPath): boolean {
    if (path.length === 0) return this.#paths.size > 0;
    const prefix = JSON.stringify(path).slice(0, -1);
    return [...this.#paths].some((known) => known.startsWith(prefix) && /^[,\]]/.test(known.slice(prefix.length)));
  }

  /** The faults in the order of the file, and at the end how many were not kept. */
  toSorted(): ConfigFault[] {
    const all = this.#end ? [...this.#faults.values(), this.#end] : [...this.#faults.values()];
    // A misspelt key is also a missing one; the fault with a suggestion comes first, because it is the cause.
    const rank = ({ nearest }: ConfigFault) => (nearest === undefined ? 1 : 0);
    const faults = all.toSorted((a, b) => a.line - b.line || a.column - b.column || rank(a) - rank(b));
    if (this.#unkept === 0) return faults;
    const message = `There are ${this.#unkept} more faults in this file`;
    return [...faults, { file: this.#file, line: 1, column: 1, keyPath: '', message }];
  }

  #keep(fault: ConfigFault): void {
    const key = `${fault.line}:${fault.column}:${fault.keyPath}:${fault.message}`;
    if (this.#faults.has(key)) return;
    if (this.isFull) this.#unkept++;
    else {
      this.#faults.set(key, fault);
      this.#count.kept++;
    }
  }
}
