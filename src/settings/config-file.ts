import { dirname, resolve } from 'node:path';
import type { ConfigFault, KeyPath } from './fault.ts';
import { FaultList } from './fault-list.ts';
import { parseSource, type RootExpected } from './parse-source.ts';
import { listSecretKeys, type SecretKeys } from './secrecy.ts';
import type { ConfigSource } from './source.ts';

/** Room for tens of thousands of routers; a larger file is something else. */
export const CONFIG_FILE_BYTES_MAX = 16 * 1024 ** 2;

/** One file of the configuration while it is checked: what it says, where, and what is wrong with it. */
export interface ConfigFile {
  /** As faults name it. */
  readonly name: string;
  /** Absolute; relative paths in the file start here. */
  readonly folder: string;
  readonly source: ConfigSource;
  readonly faults: FaultList;
  /** The keys whose values no message repeats. */
  readonly secretKeys: SecretKeys;
}

/** A key or value in one of the files. */
export interface Place {
  readonly file: ConfigFile;
  readonly path: KeyPath;
}

/** The files of one configuration in the order in which they were parsed, with everything that is wrong with them. */
export class ConfigFiles {
  readonly #faults: (() => readonly ConfigFault[])[] = [];

  /** Parses the text of a file; `undefined`, and faults, when nothing more can be said about it. */
  parse(name: string, path: string, text: string, root: RootExpected): ConfigFile | undefined {
    const { source, faults: known } = parseSource(name, text, root);
    if (!source) {
      this.#faults.push(() => known);
      return undefined;
    }
    const faults = new FaultList(name, source, known);
    this.#faults.push(() => faults.toSorted());
    return { name, folder: dirname(resolve(path)), source, faults, secretKeys: listSecretKeys(root.schema) };
  }

  /** Adds a fault of a file that could not even be read. */
  refuse(name: string, message: string): void {
    const fault = { file: name, line: 1, column: 1, keyPath: '', message };
    this.#faults.push(() => [fault]);
  }

  /** All faults: file by file, each in the order of its lines. */
  get faults(): ConfigFault[] {
    return this.#faults.flatMap((faults) => faults());
  }
}

/** Renders where a place is, for a message about something in the file `from`: `on line 3`, `in b.yaml on line 3`. */
export function renderPlace({ file, path }: Place, from: ConfigFile): string {
  const { line } = file.source.locate(path, 'key');
  return file === from ? `on line ${line}` : `in ${file.name} on line ${line}`;
}
