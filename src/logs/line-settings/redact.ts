import type { ConfigFile } from '../../settings/index.ts';
import { compileAt } from './compile-at.ts';
import type { WrittenRedact } from './log-rule-schema.ts';
import { REPLACEMENT_DEFAULT } from './log-rule-schema.ts';
import type { RedactSettings } from './rule-settings.ts';

/** Checks the patterns that are removed from messages, and fills in what stands there instead. */
export function resolveRedact(file: ConfigFile, written: WrittenRedact = []): RedactSettings[] {
  return written.flatMap((item, index) => {
    const { pattern: source, replacement = REPLACEMENT_DEFAULT } = typeof item === 'string' ? { pattern: item } : item;
    const path = ['redact', index, ...(typeof item === 'string' ? [] : ['pattern'])];
    const pattern = compileAt(source, { file, path });
    if (!pattern) return [];
    if (pattern.match(''))
      file.faults.add(path, 'The pattern matches nothing at all too, so it does not say what is to be removed');
    return [{ pattern: pattern.source, replacement }];
  });
}
