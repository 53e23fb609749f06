import { statfsSync } from 'node:fs';

/** Upper limit of the reserve on a small disk, as a share of its size. */
const RESERVE_SHARE = 1 / 8;

/**
 * Returns true if more than `reserveBytes` are free on the disk of `folder`. Records are not added to a disk with less:
 * acknowledgements could no longer be stored, so nothing would ever leave the disk again.
 */
export function hasReserve(folder: string, reserveBytes: number): boolean {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    // Some network file systems do not report their size.
    return blocks === 0 || bavail * bsize > Math.min(reserveBytes, blocks * bsize * RESERVE_SHARE);
  } catch {
    return true;
  }
}
