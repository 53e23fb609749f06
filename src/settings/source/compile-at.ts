import { compilePattern, type Pattern, PatternError } from '../../base/index.ts';
import type { Place } from './config-file.ts';

/** Compiles the pattern that stands at a place; `undefined`, with a fault, when it is none. */
export function compileAt(source: string | undefined, { file, path }: Place): Pattern | undefined {
  if (source === undefined) return undefined;
  try {
    return compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    file.faults.add(path, error.message);
    return undefined;
  }
}
