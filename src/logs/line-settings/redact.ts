import { z } from 'zod';
import type { ConfigFile } from '../../settings/index.ts';
import { compileAt } from '../../settings/index.ts';
import { type RedactSettings, redactedSchema, type WrittenRedact } from './log-rule-schema.ts';

/** Checks the patterns that are removed from messages, and fills in what stands there instead. */
export function resolveRedact(file: ConfigFile, written: WrittenRedact = []): RedactSettings[] {
  return written.flatMap((item, index) => {
    const { pattern: source, replacement } =
      typeof item === 'string' ? z.parse(redactedSchema, { pattern: item }) : item;
    const path = ['redact', index, ...(typeof item === 'string' ? [] : ['pattern'])];
    const pattern = compileAt(source, { file, path });
    if (!pattern || replacement === undefined) return [];
    if (pattern.match(''))
      file.faults.add(path, 'The pattern matches the empty text; it must match at least one character');
    return [{ pattern: pattern.source, replacement }];
  });
}
