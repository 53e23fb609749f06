import { stat } from 'node:fs/promises';
import type { Clock } from '../base/index.ts';
import { CONFIG_FILE_BYTES_MAX, listMatches, readDigest } from '../settings/index.ts';
import { ROUTER_FILES_MAX } from './router-files.ts';

/** How often files of routers are looked at: soon enough for a person who waits, and nothing for the disk. */
const WATCH_INTERVAL_MS = 5000;
/** From the look that found a change to the next: a file of this size is written by then. */
const WATCH_SETTLE_MS = 1000;
/** After so many looks a file that changes all the time is taken as it is. */
const WATCH_LOOKS_MAX = 6;

export interface WatchOptions {
  /** Absolute paths and globs, as `LoadedConfig.watched` has them. */
  readonly patterns: readonly string[];
  /** What was there when the configuration was loaded; without it, what is there at the first look. */
  readonly digests?: ReadonlyMap<string, string> | undefined;
  /** Clock for the waits between two checks. */
  readonly clock: Clock;
  /** From one look to the next. Default: 5 s. Milliseconds. */
  readonly intervalMs?: number | undefined;
  /** Stops watching when aborted. */
  readonly signal: AbortSignal;
  /** Is waited for. What goes wrong in it is its own business: an error is ignored. */
  readonly onChange: () => void | Promise<void>;
}

/**
 * Calls `onChange` when files of routers were changed, added or removed, until `signal` is aborted. Never rejects.
 *
 * It looks at the files itself, because notifications of the system are lost on network shares and when a link is
 * replaced, which is how Kubernetes changes a file. A change is told when two looks in a row saw the same, so that a file
 * is not taken while it is being written; one that never comes to rest is told after a few looks.
 */
export async function watchRouterFiles(options: WatchOptions): Promise<void> {
  const { patterns, digests, clock, intervalMs = WATCH_INTERVAL_MS, signal, onChange } = options;
  const looker = new FileLooker(patterns);
  let accepted = digests ? renderDigests(digests) : await looker.look();
  let pending: string | undefined;
  let looks = 0;
  while (await rest(clock, pending === undefined ? intervalMs : Math.min(intervalMs, WATCH_SETTLE_MS), signal)) {
    const seen = await looker.look();
    if (signal.aborted) return;
    if (seen === accepted) {
      pending = undefined;
      looks = 0;
      continue;
    }
    looks++;
    if (seen !== pending && looks < WATCH_LOOKS_MAX) {
      pending = seen;
      continue;
    }
    accepted = seen;
    pending = undefined;
    looks = 0;
    try {
      await onChange();
    } catch {
      // The watch goes on: the next change may be the one that mends what went wrong.
    }
  }
}

/** Whether the time has passed; `false` when the signal came first. */
async function rest(clock: Clock, durationMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(durationMs, signal);
    return !signal.aborted;
  } catch {
    return false;
  }
}

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
function renderDigests(digests: ReadonlyMap<string, string>): string {
  return JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
