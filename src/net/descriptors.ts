import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createSystemClock } from '../base/index.ts';

/**
 * Descriptors that connections to routers leave for the connections of the agent's own server, for three threads of five
 * each, and for files.
 */
const SPARED = 28;

/** Validity of a look. Descriptors opened by others meanwhile come out of the reserve. Milliseconds. */
const LOOK_MS_MAX = 50;
/** It is longer where a look is: a millisecond for each 1,000 open files where the system does not count them. */
const LOOK_SHARE = 1 / 20;

const OPEN_FILES = '/proc/self/fd';

const clock = createSystemClock();

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
  const beganMs = clock.monotonic();
  const free = countFree() - spared - claimed;
  const nowMs = clock.monotonic();
  const validMs = Math.max(LOOK_MS_MAX, (nowMs - beganMs) / LOOK_SHARE);
  // Those that were claimed and are given back unused are found by the next look.
  found = { count: Math.max(0, Math.floor((free - 1) / 2)), spared, untilMs: nowMs + validMs };
  return free > 0;
}

/** Counts without taking any: threads that open a file just then would find none left. The limit may change at any time. */
function countFree(): number {
  try {
    const limit = readLimit();
    if (limit === undefined) return Number.MAX_SAFE_INTEGER;
    // Linux counts them since 6.2; before, the size is 0. The folder that is read is open itself.
    return limit - (statSync(OPEN_FILES).size || readdirSync(OPEN_FILES).length - 1);
  } catch (cause) {
    // A system without these files says nothing about descriptors.
    const isFull = cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE');
    return isFull ? 0 : Number.MAX_SAFE_INTEGER;
  }
}

/** Returns how many files this process may have open; `undefined` if the system does not say. */
export function readDescriptorLimit(): number | undefined {
  try {
    return readLimit();
  } catch {
    return undefined;
  }
}

function readLimit(): number | undefined {
  const digits = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return digits === undefined ? undefined : Number(digits);
}
