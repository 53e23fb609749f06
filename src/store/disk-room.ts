import { statfsSync } from 'node:fs';

/** Of a small disk no more than this part is kept free. */
const RESERVE_SHARE = 1 / 8;

/**
 * Whether more than `reserveBytes` of the disk of `folder` are free. Records are not added to a disk with less: sinks could
 * not say any more what they have taken, and so nothing would ever leave it again.
 */
export function hasReserve(folder: string, reserveBytes: number): boolean {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    // Some network file systems do not say how large they are.
    return blocks === 0 || bavail * bsize > Math.min(reserveBytes, blocks * bsize * RESERVE_SHARE);
  } catch {
    return true;
  }
}
