import type { Clock } from '../base/index.ts';
import { CONFIG_FILE_BYTES_MAX, listMatches, readDigest, readFileStamp } from '../settings/index.ts';
import { ROUTER_FILES_MAX } from './listed-routers.ts';

/** Interval between checks of the files: short enough for a person who waits, and no load for the disk. Milliseconds. */
const WATCH_INTERVAL_MS = 5000;
/** Wait after a check that found a change: files of this size are written by then. Milliseconds. */
const WATCH_SETTLE_MS = 1000;
/** Number of checks after which a file that keeps changing is accepted as it is. */
const WATCH_LOOKS_MAX = 6;

/** Files to watch for changes. */
export interface WatchOptions {
  /** Absolute paths and globs, as `LoadedConfig.watched` has them. */
  readonly patterns: readonly string[];
  /** Digests of the files when the configuration was loaded. Default: those at the first check. */
  readonly digests?: ReadonlyMap<string, string> | undefined;
  /** Clock for the waits between two checks. */
  readonly clock: Clock;
  /** Interval between checks, in milliseconds. Default: 5 s. */
  readonly intervalMs?: number | undefined;
  /** Stops watching when aborted. */
  readonly signal: AbortSignal;
  /** Called after a change, and awaited. Errors are ignored. */
  readonly onChange: () => void | Promise<void>;
}

/**
 * Calls `onChange` when files were changed, added or removed, until `signal` is aborted. Never rejects.
 *
 * Polls the files, because notifications of the system are lost on network shares and when a link is replaced, which is how
 * Kubernetes changes a file. A change is reported when two checks in a row found the same content, so that a file is not read
 * while it is being written; a file that keeps changing is reported after a few checks.
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
      // Keep watching: the next change may fix the cause.
    }
  }
}

/** Resolves to true after the time, or to false when the signal aborts first. */
async function rest(clock: Clock, durationMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(durationMs, signal);
    return !signal.aborted;
  } catch {
    return false;
  }
}

/** State of a file at the last check. */
interface KnownFile {
  readonly stamp: string;
  readonly digest: string;
  /** True when an equal stamp proves that the content is unchanged. */
  readonly isSettled: boolean;
}

/** Checks files for changes, and reads only those that may have changed since the last check. */
export class FileLooker {
  readonly #patterns: readonly string[];
  readonly #readStamp: (path: string) => Promise<string>;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  /** `readStamp` returns a text that is equal while a file is unchanged, without reading its content. */
  constructor(patterns: readonly string[], readStamp = readFileStamp) {
    this.#patterns = patterns;
    this.#readStamp = readStamp;
  }

  /** Returns a text that differs from the last one when something has changed. */
  async look(): Promise<string> {
    const known = new Map<string, KnownFile>();
    for (const pattern of this.#patterns) {
      for (const path of await listMatches(pattern, ROUTER_FILES_MAX)) {
        if (known.has(path) || known.size > ROUTER_FILES_MAX) continue;
        const stamp = await this.#readStamp(path);
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

/** Renders digests as one text that can be compared. */
function renderDigests(digests: ReadonlyMap<string, string>): string {
  return JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
