import { readFileSync } from 'node:fs';

/** Reads how many descriptors this process may have open; `undefined` when the system does not say, or sets no limit. */
export function readDescriptorLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const digits = /^Max open files +(\d+) /m.exec(readFileSync(path, 'latin1'))?.[1];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  }
}
