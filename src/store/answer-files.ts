import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toStoreError } from './errors.ts';

/** Accessible only to the owner, as the database beside it. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Texts in a folder of the state, one file for each name, which has letters, digits, `.`, `_` and `-` alone. */
export class AnswerFiles {
  readonly #folder: string;
  readonly #bytesMax: number;

  /** `folder` is created with the first file. A file of more than `bytesMax` bytes is not read. */
  constructor(folder: string, bytesMax: number) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
  }

  /** Returns the text of a name; `undefined` if there is none, or it cannot be read. Never rejects. */
  async read(name: string): Promise<string | undefined> {
    const file = this.#toFile(name);
    try {
      const { size } = await stat(file);
      return size > this.#bytesMax ? undefined : await readFile(file, 'utf8');
    } catch {
      return undefined;
    }
  }

  /** Replaces the text of a name: after a crash it is either the old or the new one. Throws {@link StoreError}. */
  async write(name: string, text: string): Promise<void> {
    const file = this.#toFile(name);
    const part = `${file}.part`;
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
    return join(this.#folder, `${name}.json`);
  }
}
