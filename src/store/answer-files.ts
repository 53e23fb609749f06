import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StoreError } from '../model/index.ts';
import { FILE_MODE, FOLDER_MODE, readSystemCode, toStoreError } from './sqlite-file.ts';

const SUFFIX = '.json';

/** Texts in a folder of the state, one file per name. Names consist of letters, digits, `.`, `_` and `-`. */
export class AnswerFiles {
  readonly #folder: string;
  readonly #bytesMax: number;

  /** `folder` is created with the first file. `bytesMax` limits each file. */
  constructor(folder: string, bytesMax: number) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
  }

  /** Returns the text of a name; `undefined` if there is none. Throws {@link StoreError} if it cannot be read. */
  async read(name: string): Promise<string | undefined> {
    const file = this.#toFile(name);
    try {
      const { size } = await stat(file);
      if (size <= this.#bytesMax) return await readFile(file, 'utf8');
    } catch (cause) {
      if (readSystemCode(cause) === 'ENOENT') return undefined;
      throw toStoreError(cause, this.#folder);
    }
    throw new StoreError('too-long', `The file ${file} has more than ${this.#bytesMax} bytes`, {
      disposition: 'operator',
    });
  }

  async list(): Promise<readonly string[]> {
    const files = await readdir(this.#folder).catch(() => []);
    return files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#toFile(name), { force: true }).catch(() => {});
  }

  /** Replaces the text of a name atomically, also across a crash. Throws {@link StoreError}. */
  async write(name: string, text: string): Promise<void> {
    const file = this.#toFile(name);
    const part = `${file}.part`;
    if (Buffer.byteLength(text) > this.#bytesMax)
      throw new StoreError('too-long', `The text for ${file} has more than ${this.#bytesMax} bytes`, {
        disposition: 'operator',
      });
    try {
      await mkdir(this.#folder, { recursive: true, mode: FOLDER_MODE });
      await rm(part, { force: true });
      {
        await using handle = await open(part, 'wx', FILE_MODE);
        await handle.writeFile(text);
        await handle.sync();
      }
      await rename(part, file);
      await using folder = await open(dirname(file), 'r');
      await folder.sync();
    } catch (cause) {
      await rm(part, { force: true }).catch(() => {});
      throw toStoreError(cause, this.#folder);
    }
  }

  #toFile(name: string): string {
    return join(this.#folder, `${name}${SUFFIX}`);
  }
}
