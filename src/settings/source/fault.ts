/** Steps from the root of the file to a value: keys, and indexes of list items. */
export type KeyPath = readonly (string | number)[];

/** Line and column in a file, both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Target of a fault: the key if it is wrong, else its value. For a missing key it is the map either way. */
export type Aim = 'key' | 'value';

/** Finds the position of a key or value in a file. */
export interface Locator {
  locate(path: KeyPath, aim: Aim): Position;
}

/** A fault of the configuration, for people. Contains no secret. */
export interface ConfigFault {
  /** Path as given to `loadConfig`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** Such as `routers[3].poll.interval`; empty for the whole file. */
  readonly keyPath: string;
  /** A sentence without its full stop. */
  readonly message: string;
  /** The valid key or value that was probably intended. */
  readonly nearest?: string;
}

/** Renders a fault as `file:line:column: key path: message`, which editors turn into a link. */
export function renderFault(fault: ConfigFault): string {
  return `${fault.file}:${fault.line}:${fault.column}: ${describeFault(fault)}`;
}

/** Renders a fault without its place in a file. */
export function describeFault({ keyPath, message, nearest }: ConfigFault): string {
  return `${keyPath === '' ? '' : `${keyPath}: `}${message}${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`;
}

/** Renders a path as `routers[3].labels.site`. */
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
 * Renders a key up to its first unusual character. In `{user: x, password:abc}` the last key is `password:abc`, and what
 * follows the missing space may be a secret.
 */
export function renderKey(key: string): string {
  const plain = /^[\w.<-]*/.exec(key)?.[0].slice(0, KEY_CHARS_MAX) ?? '';
  return plain === key ? plain : `${plain}…`;
}
