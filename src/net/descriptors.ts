import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createSystemClock } from '../base/index.ts';

/**
 * Descriptors that connections to routers leave free: for connections of the agent's own server, three threads of five each,
 * and files.
 */
const RESERVE = 28;

/** Validity of a count. Descriptors that others open meanwhile come out of the reserve. Milliseconds. */
const COUNT_MS_MAX = 50;
/** Maximum share of the time spent on counting: without a system counter, it takes a millisecond per 1,000 open files. */
const COUNT_SHARE = 1 / 20;

const OPEN_FILES = '/proc/self/fd';

const clock = createSystemClock();

/** Claimed descriptors that are not open yet. Descriptors are shared by the process, so the count is too. */
let claimed = 0;
/** Free descriptors of the last count that were not claimed since. */
let found = { count: 0, reserve: 0, untilMs: 0 };

/**
 * Claims a descriptor for a connection. Returns the function that ends the claim (idempotent; call it once the descriptor is
 * open or not needed), or `undefined` if no more than `reserve` descriptors are free: monitoring must still be able to connect to the
 * agent then. Always granted if the system reports no limit.
 */
export function claimDescriptor(reserve: number = RESERVE): (() => void) | undefined {
  if (!takeCounted(reserve) && !recount(reserve)) return undefined;
  claimed++;
  let isClaimed = true;
  return () => {
    if (isClaimed) claimed--;
    isClaimed = false;
  };
}

function takeCounted(reserve: number): boolean {
  if (found.count === 0 || found.reserve < reserve || clock.monotonic() > found.untilMs) return false;
  found = { ...found, count: found.count - 1 };
  return true;
}

/** Counts the free descriptors above the reserve, and caches half of them for the next claims. */
function recount(reserve: number): boolean {
  const beganMs = clock.monotonic();
  const free = countFree() - reserve - claimed;
  const nowMs = clock.monotonic();
  const validMs = Math.max(COUNT_MS_MAX, (nowMs - beganMs) / COUNT_SHARE);
  // Claims that ended unused are found by the next count.
  found = { count: Math.max(0, Math.floor((free - 1) / 2)), reserve, untilMs: nowMs + validMs };
  return free > 0;
}

/** Counts without opening a file: a thread that opens one at that moment would fail. The limit may change at any time. */
function countFree(): number {
  try {
    const limit = readLimit();
    if (limit === undefined) return Number.MAX_SAFE_INTEGER;
    // Linux has a counter since 6.2; before, the size is 0. readdir() itself holds one descriptor open.
    return limit - (statSync(OPEN_FILES).size || readdirSync(OPEN_FILES).length - 1);
  } catch (cause) {
    // A system without these files reports no limit.
    const isFull = cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE');
    return isFull ? 0 : Number.MAX_SAFE_INTEGER;
  }
}

/** Returns the limit of open files of this process; `undefined` if the system does not report one. */
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
