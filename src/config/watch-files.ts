import type { Clock } from '../base/index.ts';
import { WATCH_INTERVAL_MS, WATCH_LOOKS_MAX, WATCH_SETTLE_MS } from './defaults.ts';
import { FileLooker, renderDigests } from './file-looker.ts';

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
