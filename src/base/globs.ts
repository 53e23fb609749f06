import { matchesGlob } from 'node:path';

/** Returns true if globs select a name; a leading `!` excludes. */
export function isSelected(name: string, globs: readonly string[]): boolean {
  const isMatch = (glob: string) => matchesGlob(name, glob);
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}
