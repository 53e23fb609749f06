import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Whether the tests that need a program can run. Where they cannot, their titles say why; with `REQUIRE_TOOLS` set, as
 * in CI, they run all the same and fail. `path` is where to look, as in `PATH`.
 */
export function findTool(
  name: string,
  path = process.env['PATH'] ?? '',
): { readonly isMissing: boolean; readonly note: string } {
  const isPresent = path.split(delimiter).some((folder) => isExecutable(join(folder, name)));
  const isMissing = !isPresent && !process.env['REQUIRE_TOOLS'];
  return { isMissing, note: isMissing ? ` (skipped: the program ${name} is not installed)` : '' };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
