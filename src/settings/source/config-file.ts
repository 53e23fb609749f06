import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { Steps } from '../../base/index.ts';
import { describeExcessRights } from '../files/file-rights.ts';
import { SecretKeeper } from '../files/secret-keeper.ts';
import { decodeText } from '../files/text-file.ts';
import { listSecretKeys, type SecretKeys } from '../schema/values.ts';
import { ConfigSource } from './config-source.ts';
import type { ConfigFault, KeyPath } from './fault.ts';
import { type FaultCount, FaultList } from './fault-list.ts';
import { type ParsedText, parseSource, type RootKind } from './parse-source.ts';
import type { YamlThread } from './yaml-thread.ts';

/** Maximum size of a configuration file: enough for tens of thousands of routers. */
export const CONFIG_FILE_BYTES_MAX = 16 * 1024 ** 2;

/** Expected content of a file. */
export interface RootExpected extends RootKind {
  /** Schema of the file. */
  readonly schema: z.core.$ZodType;
  /** True for the main file. Default: false. */
  readonly isMain?: boolean;
}

/** A file of the configuration while it is checked, with its positions and faults. */
export interface ConfigFile {
  /** Name of the file in faults. */
  readonly name: string;
  /** Absolute; relative paths in the file start here. */
  readonly folder: string;
  readonly source: ConfigSource;
  readonly faults: FaultList;
  /** The keys whose values no message repeats. */
  readonly secretKeys: SecretKeys;
  readonly surroundings: FileSurroundings;
  /** True for the main file, which alone may name commands. */
  readonly isMain: boolean;
}

/** Surroundings that configuration files refer to, besides other files. */
export interface FileSurroundings {
  /** Reads secrets, and keeps them up to date. */
  readonly secrets: SecretKeeper;
  /** Folder of the credentials of systemd (`CREDENTIALS_DIRECTORY`); absent: this is not such a service. */
  readonly credentialsFolder?: string | undefined;
}

/** Text of a file, as such or as bytes of UTF-8, and its permission bits. Default: it is no file. */
type SourceContent = ({ readonly text: string } | { readonly bytes: Uint8Array<ArrayBuffer> }) & {
  readonly mode?: number;
};

const OWN_TEXTS_MAX = 100;
/** Files of the product that were parsed, by path: a reload parses none of them again. */
const ownTexts = new Map<
  string,
  { readonly name: string; readonly text: string; readonly root: RootExpected; readonly parsed: ParsedText }
>();

/** Position of a key or value in one of the files. */
export interface Place {
  readonly file: ConfigFile;
  readonly path: KeyPath;
}

/** The files of one configuration in parsing order, with their faults. Dispose of it when all are parsed. */
export class ConfigFiles implements AsyncDisposable {
  readonly #faults: (() => readonly ConfigFault[])[] = [];
  readonly #warnings: (() => readonly ConfigFault[])[] = [];
  /** Count of faults in all files but the main file, whose faults are always listed. */
  readonly #count: FaultCount = { kept: 0 };
  readonly #thread: YamlThread | undefined;
  readonly #surroundings: FileSurroundings;

  /** `thread`: parses long files, and is disposed of with them. Default: all are parsed here, while nothing else is done. */
  constructor(surroundings: FileSurroundings = { secrets: new SecretKeeper() }, thread?: YamlThread) {
    this.#surroundings = surroundings;
    this.#thread = thread;
  }

  /**
   * Parses the text of a file; `undefined`, with its faults recorded, when it cannot be checked further. Rights of others on the
   * file are a warning. Bytes are UTF-8 text, and handed over to a thread: the caller has them no more.
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
    // A text that is no file has no rights, and may be large.
    if (!file || mode === 0) return file;
    const excess = await describeExcessRights(resolve(path), mode, (await holdsSecret(file)) ? 'secret' : 'settings');
    if (excess !== undefined) file.faults.warn([], excess);
    return file;
  }

  /** The same at once, for files that are part of the product. What they hold is known from the first time on. */
  parseOwn(name: string, path: string, text: string, root: RootExpected): ConfigFile | undefined {
    let known = ownTexts.get(path);
    if (known?.text !== text || known.name !== name || known.root !== root) {
      known = { name, text, root, parsed: parseSource(name, text, root) };
      // A folder of modules has dozens; other folders are for tests.
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

  /** Adds a fault of a file that could not even be read. */
  refuse(name: string, message: string): void {
    const fault = { file: name, line: 1, column: 1, keyPath: '', message };
    this.#faults.push(() => [fault]);
  }

  /** Warnings: findings that do not prevent the configuration from being used. */
  get warnings(): ConfigFault[] {
    return this.#warnings.flatMap((warnings) => warnings());
  }

  /** All faults: file by file, each in the order of its lines. */
  get faults(): ConfigFault[] {
    return this.#faults.flatMap((faults) => faults());
  }
}

/** True if a secret stands in the file itself, and not in the environment. The items of lists are looked at in steps. */
async function holdsSecret({ source, secretKeys }: ConfigFile): Promise<boolean> {
  const steps = new Steps();
  const root = source.value;
  for (const [key, part] of isList(root) ? [['', root] as const] : Object.entries(Object(root) as object)) {
    for (const item of isList(part) ? part : [part]) {
      if (holdsText(item, [key], secretKeys)) return true;
      if (steps.isDue) await steps.next();
    }
  }
  return false;
}

/** True if a value is, or has inside of it, a text of a secret key that does not come from the environment. */
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

/** True if a key of a map is present, valid or not. */
export function isWritten({ file, path }: Place, key: string): boolean {
  return file.source.valueAt([...path, key]) !== undefined;
}

/** Rejects the second of two keys of a map that exclude each other. */
export function refuseBoth(map: Place, key: string, other: string): void {
  if (!isWritten(map, key) || !isWritten(map, other)) return;
  const message = `Both "${key}" and "${other}" are set; keep one of them`;
  map.file.faults.add([...map.path, other], message, { aim: 'key' });
}
