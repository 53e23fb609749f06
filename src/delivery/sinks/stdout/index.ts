import { z } from 'zod';
import { defineSink } from '../define-sink.ts';
import { stdoutSchema } from './schema.ts';
import { createStdoutSink } from './sink.ts';

export const stdout = defineSink({
  schema: stdoutSchema,
  open: (settings, { stdout: output }) => createStdoutSink({ ...settings, output }),
});

/** Returns the settings of a `stdout` sink with all defaults. */
export function createStdoutSettings(name: string) {
  return z.parse(stdoutSchema, { type: 'stdout', name });
}
