import { closeSync, openSync, readFileSync } from 'node:fs';

/**
 * Descriptors that connections to routers leave for the connections of the agent's own server, for three threads of five
 * each, and for files.
 */
const SPARED = 28;

/** Descriptors that were claimed and are not open yet; those of a process are shared, so the count is, too. */
let claimed = 0;

/**
 * Claims a descriptor for a connection, and returns the function that ends the claim (idempotent), to be called when the
 * descriptor is open or not needed. `undefined` when it would be one of the last of the process: whoever watches the agent
 * must be able to connect to it then, of all times.
 */
export function claimDescriptor(spared: number = SPARED): (() => void) | undefined {
  if (!areDescriptorsFree(spared + claimed + 1)) return undefined;
  claimed++;
  let isClaimed = true;
  return () => {
    if (isClaimed) claimed--;
    isClaimed = false;
  };
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
