import { closeSync, openSync, readFileSync } from 'node:fs';
import { createSystemClock } from '../base/index.ts';

/**
 * Descriptors that connections to routers leave for the connections of the agent's own server, for three threads of five
 * each, and for files.
 */
const SPARED = 28;

/** Descriptors that one look finds free beyond the one that is claimed: a look takes as long as some thirty calls of the system. */
const FOUND_AT_ONCE = 64;
/** Validity of a look. Descriptors opened by others meanwhile come out of the reserve. Milliseconds. */
const LOOK_MS_MAX = 50;

const clock = createSystemClock();

/** Descriptors that were claimed and are not open yet; those of a process are shared, so the count is, too. */
let claimed = 0;
/** Free ones that the last look has found, and that were not claimed since. */
let found = { count: 0, spared: 0, untilMs: 0 };

/**
 * Claims a descriptor for a connection, and returns the function that ends the claim (idempotent), to be called when the
 * descriptor is open or not needed. `undefined` when it would be one of the last of the process: whoever watches the agent
 * must be able to connect to it then, of all times.
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

/** Looks for a free descriptor beside those that are spared, and for the next ones if there are many. */
function look(spared: number): boolean {
  const held = spared + claimed;
  const count = areDescriptorsFree(held + 1 + FOUND_AT_ONCE) ? FOUND_AT_ONCE : 0;
  // Those that were claimed and are given back unused are found by the next look.
  found = { count, spared, untilMs: clock.monotonic() + LOOK_MS_MAX };
  return count > 0 || areDescriptorsFree(held + 1);
}

function areDescriptorsFree(count: number): boolean {
  const held: number[] = [];
  try {
    while (held.length < count) held.push(openSync('/dev/null', 'r'));
    return true;
  } catch (cause) {
    // A system without this file says nothing about descriptors.
    return !(cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE'));
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}

/** Returns how many files this process may have open; `undefined` if the system does not say. */
export function readDescriptorLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
