import { matchesGlob } from 'node:path';

/** Whether a name is chosen by globs; those with a leading `!` take away from what the others give. */
export function isSelected(name: string, globs: readonly string[]): boolean {
  const isMatch = (glob: string) => matchesGlob(name, glob);
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}
