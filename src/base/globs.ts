import { matchesGlob } from 'node:path';
import { matchesStars } from './star-glob.ts';

/** Anything but `*` and `?` that a glob can have. */
const SPECIAL = /[[\](){}\\/]/;

/** Returns true if globs select a name; a leading `!` excludes. */
export function isSelected(name: string, globs: readonly string[]): boolean {
  // The general way takes a time that grows with a power of the length: seconds for six stars and a name that a router made up.
  const isMatch = (glob: string) => (SPECIAL.test(glob) ? matchesGlob(name, glob) : matchesStars(name, glob));
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}
