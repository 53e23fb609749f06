import type { Clock } from '../base/index.ts';
import { CONFIG_FILE_BYTES_MAX, listMatches, readDigest, readFileStamp } from '../settings/index.ts';
import { ROUTER_FILES_MAX } from './load-config.ts';

/** Short enough for an operator who waits, and no load for the disk. */
const WATCH_INTERVAL_MS = 5000;
/** After a change: files of this size are written by then. */
const WATCH_SETTLE_MS = 1000;
/** After so many checks, a file that keeps changing is reported as it is. */
const WATCH_CHECKS_MAX = 6;

/** Files to watch, and what to call. */
export interface WatchOptions {
  /** Absolute paths and globs, from `LoadedConfig.watched`. */
  readonly patterns: readonly string[];
  /** Digests of the loaded files. Default: those at the first check. */
  readonly digests?: ReadonlyMap<string, string> | undefined;
  /** Clock for the waits between checks. */
  readonly clock: Clock;
  /** Milliseconds between checks. Default: 5000. */
  readonly intervalMs?: number | undefined;
  /** Stops watching when aborted. */
  readonly signal: AbortSignal;
  /** Called after a change, and awaited. Errors are ignored. */
  readonly onChange: () => void | Promise<void>;
}

/**
 * Calls `onChange` when files were changed, added or removed, until `signal` is aborted. Polls, because file
 * notifications are lost on network shares and when a link is replaced (Kubernetes). Waits until two checks find the
 * same content, so that no file is read while it is being written. Never rejects.
 */
export async function watchFiles(options: WatchOptions): Promise<void> {
  const { patterns, digests, clock, intervalMs = WATCH_INTERVAL_MS, signal, onChange } = options;
  const checker = new FileChecker(patterns);
  let accepted = digests ? renderDigests(digests) : await checker.check();
  let pending: string | undefined;
  let checks = 0;
  while (await rest(clock, pending === undefined ? intervalMs : Math.min(intervalMs, WATCH_SETTLE_MS), signal)) {
    const seen = await checker.check();
    if (signal.aborted) return;
    if (seen === accepted) {
      pending = undefined;
      checks = 0;
      continue;
    }
    checks++;
    if (seen !== pending && checks < WATCH_CHECKS_MAX) {
      pending = seen;
      continue;
    }
    accepted = seen;
    pending = undefined;
    checks = 0;
    try {
      await onChange();
    } catch {}
  }
}

async function rest(clock: Clock, durationMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(durationMs, signal);
    return !signal.aborted;
  } catch {
    return false;
  }
}

interface KnownFile {
  readonly stamp: string;
  readonly digest: string;
  /** True if an equal stamp proves equal content. */
  readonly isSettled: boolean;
}

/** Reads only files that may have changed since the last check. */
export class FileChecker {
  readonly #patterns: readonly string[];
  readonly #readStamp: (path: string) => Promise<string>;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  constructor(patterns: readonly string[], readStamp = readFileStamp) {
    this.#patterns = patterns;
    this.#readStamp = readStamp;
  }

  async check(): Promise<string> {
    const known = new Map<string, KnownFile>();
    for (const pattern of this.#patterns) {
      for (const path of await listMatches(pattern, ROUTER_FILES_MAX)) {
        if (known.has(path) || known.size > ROUTER_FILES_MAX) continue;
        const stamp = await this.#readStamp(path);
        const before = this.#known.get(path);
        // Two changes within one tick of the file system's clock have the same stamp, so the content is read once more
        // after a new stamp.
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

function renderDigests(digests: ReadonlyMap<string, string>): string {
  return JSON.stringify([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
