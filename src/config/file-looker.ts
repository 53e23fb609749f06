import { stat } from 'node:fs/promises';
import { CONFIG_FILE_BYTES_MAX, listMatches, readDigest } from '../settings/index.ts';
import { ROUTER_FILES_MAX } from './defaults.ts';

/** What is known of a file since the last look. */
interface KnownFile {
  readonly stamp: string;
  readonly digest: string;
  /** Whether the stamp tells that nothing has changed. */
  readonly isSettled: boolean;
}

/** Looks at files, and reads only what may have changed since it looked last. */
export class FileLooker {
  readonly #patterns: readonly string[];
  readonly #readFileStamp: (path: string) => Promise<string>;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  /** `readFileStamp`: what may tell, without reading it, that a file has not changed. */
  constructor(patterns: readonly string[], readFileStamp = readStamp) {
    this.#patterns = patterns;
    this.#readFileStamp = readFileStamp;
  }

  /** A text that is another one when something has changed. */
  async look(): Promise<string> {
    const known = new Map<string, KnownFile>();
    for (const pattern of this.#patterns) {
      for (const path of await listMatches(pattern, ROUTER_FILES_MAX)) {
        if (known.has(path) || known.size > ROUTER_FILES_MAX) continue;
        const stamp = await this.#readFileStamp(path);
        const before = this.#known.get(path);
        // Two changes within one tick of the file system's clock have one stamp, so a new stamp is trusted only when the
        // content was read once more after the look that found it.
        const isSame = before?.stamp === stamp;
        const isSettled = isSame && before.isSettled;
        const digest = isSettled ? before.digest : await readDigest(path, CONFIG_FILE_BYTES_MAX);
        known.set(path, { stamp, digest, isSettled: isSame });
      }
    }
    this.#known = known;
    return renderDigests(new Map([...known].map(([path, { digest }]) => [path, digest])));
  }
}

/** What the file system says about a file; another text when it was written, unless that was within one tick of a clock. */
async function readStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return '';
  }
}

/** A text for what files hold. */
export function renderDigests(digests: ReadonlyMap<string, string>): string {
  return JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
