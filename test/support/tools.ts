import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'vitest';

/** A part of a program that is installed by itself, such as a module. */
export interface ProgramPart {
  readonly name: string;
  isInstalled(): boolean;
}

/** Registers a test or a block of tests by its title: `test`, `describe`, `test.for(…)`, `describe.skipIf(…)` and the like. */
type Register = (title: string, ...rest: never[]) => unknown;

/**
 * How tests say which programs in `PATH` and parts of such they need, apart from those that every Debian has: where one
 * is not installed, what `register` would register is skipped by name, and no block is run. With `REQUIRE_TOOLS` set, as
 * in CI, it is registered all the same, and fails.
 */
export function withPrograms<F extends Register>(programs: readonly (string | ProgramPart)[], register: F): F {
  const missing = programs
    .filter((program) => !isInstalled(program))
    .map((program) => (typeof program === 'string' ? program : program.name));
  const wrapped: Register = (title, ...rest) => {
    if (missing.length === 0 || process.env['REQUIRE_TOOLS']) register(title, ...rest);
    else test.skip(`${title} (skipped: not installed: ${missing.join(', ')})`, () => {});
  };
  return wrapped as F;
}

function isInstalled(program: string | ProgramPart): boolean {
  if (typeof program !== 'string') return program.isInstalled();
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
