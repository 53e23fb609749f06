import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { compilePattern, forEachYielding, type Pattern, PatternError } from '../../base/index.ts';
import { SecretKeeper } from '../files/secret-keeper.ts';
import { decodeText, describeExcessRights } from '../files/text-file.ts';
import { listSecretKeys, type SecretKeys } from '../schema/secret-keys.ts';
import { type ConfigFault, type FaultCount, FaultList, type KeyPath } from './fault.ts';
import { type ParsedText, parseSource, type RootKind } from './parse-source.ts';
import { ConfigSource } from './positions.ts';
import type { YamlThread } from './yaml-thread.ts';

/** Largest configuration file: enough for tens of thousands of routers. */
export const CONFIG_FILE_BYTES_MAX = 16 * 1024 ** 2;

/** What a file must contain. */
export interface RootExpected extends RootKind {
  /** Schema of the file. */
  readonly schema: z.core.$ZodType;
  /** Default: false. */
  readonly isMain?: boolean;
}

/** A configuration file while it is checked. */
export interface ConfigFile {
  /** As in faults. */
  readonly name: string;
  /** Absolute; relative paths in the file start here. */
  readonly folder: string;
  readonly source: ConfigSource;
  readonly faults: FaultList;
  /** Keys whose values no message repeats. */
  readonly secretKeys: SecretKeys;
  readonly surroundings: FileSurroundings;
  /** Only the main file may name commands. */
  readonly isMain: boolean;
}

interface FileSurroundings {
  readonly secrets: SecretKeeper;
  /** `CREDENTIALS_DIRECTORY` of systemd. Absent: not such a service. */
  readonly credentialsFolder?: string | undefined;
}

/** Bytes are UTF-8. `mode`: permission bits. Default: it is no file. */
type SourceContent = ({ readonly text: string } | { readonly bytes: Uint8Array<ArrayBuffer> }) & {
  readonly mode?: number;
};

const OWN_TEXTS_MAX = 100;
/** Shipped files by path; a reload does not parse them again. */
const ownTexts = new Map<
  string,
  { readonly name: string; readonly text: string; readonly root: RootExpected; readonly parsed: ParsedText }
>();

/** A key or value in one of the files. */
export interface Place {
  readonly file: ConfigFile;
  readonly path: KeyPath;
}

/** The files of one configuration in parsing order, with their faults. Dispose of it after parsing. */
export class ConfigFiles implements AsyncDisposable {
  readonly #faults: (() => readonly ConfigFault[])[] = [];
  readonly #warnings: (() => readonly ConfigFault[])[] = [];
  /** Of all files but the main file, whose faults are always listed. */
  readonly #count: FaultCount = { kept: 0 };
  readonly #thread: YamlThread | undefined;
  readonly #surroundings: FileSurroundings;

  /** `thread` parses long files; it is disposed of with this object. Default: all files are parsed on this thread. */
  constructor(surroundings: FileSurroundings = { secrets: new SecretKeeper() }, thread?: YamlThread) {
    this.#surroundings = surroundings;
    this.#thread = thread;
  }

  /**
   * Parses a file. Returns `undefined`, with faults, if it cannot be checked further. Warns of rights of other users.
   * Bytes are transferred to a thread, so the caller cannot use them afterwards.
   */
  async parse(
    name: string,
    path: string,
    { mode = 0, ...content }: SourceContent,
    root: RootExpected,
  ): Promise<ConfigFile | undefined> {
    const text = 'bytes' in content ? content.bytes : content.text;
    const parse = () => parseSource(name, typeof text === 'string' ? text : decodeText(text), root);
    const file = this.#open(name, path, await (this.#thread?.parse(name, text, root) ?? parse()), root);
    if (!file || mode === 0) return file;
    const excess = await describeExcessRights(resolve(path), mode, (await holdsSecret(file)) ? 'secret' : 'settings');
    if (excess !== undefined) file.faults.warn([], excess);
    return file;
  }

  /** Parses a shipped file synchronously, once. */
  parseOwn(name: string, path: string, text: string, root: RootExpected): ConfigFile | undefined {
    let known = ownTexts.get(path);
    if (known?.text !== text || known.name !== name || known.root !== root) {
      known = { name, text, root, parsed: parseSource(name, text, root) };
      // A folder of modules has dozens of files; other folders are for tests.
      if (ownTexts.size >= OWN_TEXTS_MAX) ownTexts.clear();
      ownTexts.set(path, known);
    }
    return this.#open(name, path, known.parsed, root);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }

  #open(
    name: string,
    path: string,
    { content, faults: known }: ParsedText,
    { schema, isMain = false }: RootExpected,
  ): ConfigFile | undefined {
    if (!content) {
      this.#faults.push(() => known);
      return undefined;
    }
    const source = new ConfigSource(content);
    const faults = new FaultList(name, source, known, isMain ? undefined : this.#count);
    this.#faults.push(() => faults.toSorted());
    this.#warnings.push(() => faults.warnings);
    const folder = dirname(resolve(path));
    const secretKeys = listSecretKeys(schema);
    return { name, folder, source, faults, secretKeys, surroundings: this.#surroundings, isMain };
  }

  /** Adds the fault of a file that cannot be read. */
  refuse(name: string, message: string): void {
    const fault = { file: name, line: 1, column: 1, keyPath: '', message };
    this.#faults.push(() => [fault]);
  }

  /** Findings that do not prevent the use of the configuration. */
  get warnings(): ConfigFault[] {
    return this.#warnings.flatMap((warnings) => warnings());
  }

  /** File by file, in the order of lines. */
  get faults(): ConfigFault[] {
    return this.#faults.flatMap((faults) => faults());
  }
}

/** True if a secret is in the file itself, not in the environment. */
async function holdsSecret({ source, secretKeys }: ConfigFile): Promise<boolean> {
  const root = source.value;
  let isFound = false;
  for (const [key, part] of isList(root) ? [['', root] as const] : Object.entries(Object(root) as object)) {
    await forEachYielding(isList(part) ? part : [part], (item) => {
      isFound ||= holdsText(item, [key], secretKeys);
    });
  }
  return isFound;
}

function holdsText(value: unknown, path: KeyPath, keys: SecretKeys): boolean {
  if (typeof value === 'string') return keys.isSecret(path) && !value.includes('${');
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, part]) => holdsText(part, [...path, key], keys));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Renders a position for a message about the file `from`: `on line 3`, `in b.yaml on line 3`. */
export function renderPlace({ file, path }: Place, from: ConfigFile): string {
  const { line } = file.source.locate(path, 'key');
  return file === from ? `on line ${line}` : `in ${file.name} on line ${line}`;
}

/** Returns true if a key of a map is present, valid or not. */
export function isWritten({ file, path }: Place, key: string): boolean {
  return file.source.valueAt([...path, key]) !== undefined;
}

/** Rejects the second of two keys that exclude each other. */
export function refuseBoth(map: Place, key: string, other: string): void {
  if (!isWritten(map, key) || !isWritten(map, other)) return;
  const message = `Both "${key}" and "${other}" are set; keep one of them`;
  map.file.faults.add([...map.path, other], message, { aim: 'key' });
}

const FORMS = ['', '_file', '_credential', '_command'];

/** Returns the key that sets a secret, valid or not. */
export function findSecretForm(map: Place, name: string): string | undefined {
  return FORMS.map((form) => `${name}${form}`).find((key) => isWritten(map, key));
}

/** Rejects a secret that is set by two keys. */
export function refuseSecretForms(map: Place, name: string): void {
  refuseBoth(map, name, `${name}_file`);
}

/** Compiles the pattern at a place; `undefined`, with a fault, if it is invalid. */
export function compileAt(source: string | undefined, { file, path }: Place): Pattern | undefined {
  if (source === undefined) return undefined;
  try {
    return compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    file.faults.add(path, error.message);
    return undefined;
  }
}
