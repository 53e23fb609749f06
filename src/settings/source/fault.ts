/** Keys and list indexes from the root of the file to a value. */
export type KeyPath = readonly (string | number)[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A fault points at the key if that is wrong, else at its value. Of a missing key, both are the map. */
export type Aim = 'key' | 'value';

export interface Locator {
  locate(path: KeyPath, aim: Aim): Position;
}

/** A fault of the configuration, for operators. Contains no secret. */
export interface ConfigFault {
  /** Path as given to `loadConfig`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** Such as `routers[3].poll.interval`; empty for the whole file. */
  readonly keyPath: string;
  /** A sentence without a full stop. */
  readonly message: string;
  /** The valid key or value that was probably intended. */
  readonly nearest?: string;
}

/** Renders a fault as `file:line:column: key path: message`, which editors turn into a link. */
export function renderFault(fault: ConfigFault): string {
  return `${fault.file}:${fault.line}:${fault.column}: ${describeFault(fault)}`;
}

/** Renders a fault without its position. */
export function describeFault({ keyPath, message, nearest }: ConfigFault): string {
  return `${keyPath === '' ? '' : `${keyPath}: `}${message}${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`;
}

export function renderKeyPath(path: KeyPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? renderKey(step) : `.${renderKey(step)}`;
  }
  return text;
}

/** No valid key is longer. */
const KEY_CHARS_MAX = 64;

/**
 * Renders a key up to its first unusual character. In `{user: x, password:abc}` the last key is `password:abc`, and the
 * part after the missing space may be a secret.
 */
export function renderKey(key: string): string {
  const plain = /^[\w.<-]*/.exec(key)?.[0].slice(0, KEY_CHARS_MAX) ?? '';
  return plain === key ? plain : `${plain}…`;
}

/** More than an operator reads. Beyond it, faults are only counted and files are not checked further. */
export const FAULTS_MAX = 1000;

/** Warnings of one file, which may refer to thousands of others. */
const WARNINGS_MAX = 20;
export interface FaultCount {
  kept: number;
}

interface FaultOptions {
  readonly aim?: Aim;
  readonly nearest?: string | undefined;
  /** Omits the last step of the path, because it may be a secret. */
  readonly isKeyHidden?: boolean;
}

/** Collects the faults of a file. Beyond {@link FAULTS_MAX} they are only counted. */
export class FaultList {
  readonly #file: string;
  readonly #locator: Locator;
  readonly #faults = new Map<string, ConfigFault>();
  readonly #paths = new Set<string>();
  readonly #warnings: ConfigFault[] = [];
  readonly #count: FaultCount;
  #unkept = 0;
  #end: ConfigFault | undefined;
  #more = 0;

  /** `known`: faults of parsing, which {@link covers} ignores. Lists with the same `count` are full together. */
  constructor(file: string, locator: Locator, known: readonly ConfigFault[], count: FaultCount = { kept: 0 }) {
    this.#file = file;
    this.#locator = locator;
    this.#count = count;
    for (const fault of known) this.#keep(fault);
  }

  get size(): number {
    return this.#faults.size + this.#unkept;
  }

  get isFull(): boolean {
    return this.#count.kept >= FAULTS_MAX;
  }

  add(path: KeyPath, message: string, options: FaultOptions = {}): void {
    const { line, column } = this.#locator.locate(path, options.aim ?? 'value');
    const keyPath = renderKeyPath(options.isKeyHidden ? [...path.slice(0, -1), '…'] : path);
    const { nearest } = options;
    this.#paths.add(JSON.stringify(path));
    this.#keep({ file: this.#file, line, column, keyPath, message, ...(nearest === undefined ? {} : { nearest }) });
  }

  /** Adds, once, that the file is not checked further, because the list {@link isFull}. */
  end(path: KeyPath): void {
    const message = 'The file has so many faults that it was not checked from here on';
    this.#end ??= { file: this.#file, ...this.#locator.locate(path, 'value'), keyPath: renderKeyPath(path), message };
  }

  /** Runs `work`, and returns the faults that it added instead of keeping them. */
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

  /** True if the value at `path`, or one that contains it, has a fault. */
  covers(path: KeyPath): boolean {
    if (this.#paths.size === 0) return false;
    return path.some((_, index) => this.#paths.has(JSON.stringify(path.slice(0, index + 1))));
  }

  /** True if the value at `path`, or a part of it, has a fault. */
  touches(path: KeyPath): boolean {
    if (path.length === 0) return this.#paths.size > 0;
    const prefix = JSON.stringify(path).slice(0, -1);
    return [...this.#paths].some((known) => known.startsWith(prefix) && /^[,\]]/.test(known.slice(prefix.length)));
  }

  /** In the order of the file, then the count of faults that were not kept. */
  toSorted(): ConfigFault[] {
    const all = this.#end ? [...this.#faults.values(), this.#end] : [...this.#faults.values()];
    // A misspelt key is also a missing one. The fault with a suggestion is the cause, so it comes first.
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
