import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createSystemClock } from '../base/index.ts';

/**
 * Descriptors that connections to routers leave for the connections of the agent's own server, for three threads of five
 * each, and for files.
 */
const SPARED = 28;

/**
 * Validity of a look, which takes a millisecond for each 1,000 open files where the system does not count them. Descriptors
 * opened by others meanwhile come out of the reserve. Milliseconds.
 */
const LOOK_MS_MAX = 1000;

const OPEN_FILES = '/proc/self/fd';

const clock = createSystemClock();

let limit: { readonly descriptors: number | undefined } | undefined;
/** Descriptors that were claimed and are not open yet; those of a process are shared, so the count is, too. */
let claimed = 0;
/** Free ones that the last look has found, and that were not claimed since. */
let found = { count: 0, spared: 0, untilMs: 0 };

/**
 * Claims a descriptor for a connection, and returns the function that ends the claim (idempotent), to be called when the
 * descriptor is open or not needed. `undefined` when it would be one of the last of the process: whoever watches the agent
 * must be able to connect to it then, of all times. Where the system does not say how many there are, each claim is granted.
 */
export function claimDescriptor(spared: number = SPARED): (() => void) | undefined {
  if (!isFound(spared) && !look(spared)) return undefined;
  claimed++;
  let isClaimed = true;
  return () => {
    if (isClaimed) claimed--;
    isClaimed = false;
  };
}

/** Takes one of the descriptors that the last look has found. */
function isFound(spared: number): boolean {
  if (found.count === 0 || found.spared < spared || clock.monotonic() > found.untilMs) return false;
  found = { ...found, count: found.count - 1 };
  return true;
}

/** Looks for a free descriptor beside those that are spared, and for the next ones: half of what there is. */
function look(spared: number): boolean {
  const free = countFree() - spared - claimed;
  // Those that were claimed and are given back unused are found by the next look.
  found = { count: Math.max(0, Math.floor((free - 1) / 2)), spared, untilMs: clock.monotonic() + LOOK_MS_MAX };
  return free > 0;
}

/** Counts without opening any: threads that open a file just then would find none left. */
function countFree(): number {
  limit ??= { descriptors: readDescriptorLimit() };
  if (limit.descriptors === undefined) return Number.MAX_SAFE_INTEGER;
  try {
    // Linux counts them since 6.2; before, the size is 0. The folder that is read is open itself.
    const open = statSync(OPEN_FILES).size || readdirSync(OPEN_FILES).length - 1;
    return limit.descriptors - open;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE')) return 0;
    return Number.MAX_SAFE_INTEGER;
  }
}

/** Returns how many files this process may have open; `undefined` if the system does not say. */
export function readDescriptorLimit(): number | undefined {
  try {
    const digits = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  }
}
