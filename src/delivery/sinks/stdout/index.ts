import { z } from 'zod';
import { defineSink } from '../define-sink.ts';
import { stdoutSchema } from './schema.ts';
import { createStdoutSink } from './sink.ts';

export const stdout = defineSink({
  schema: stdoutSchema,
  toSettings: (own) => own,
  toKeys: (own) => own,
  open: (settings, { stdout: output }) => createStdoutSink({ ...settings, output }),
});

/** Settings of a sink of type `stdout` that says no more than its name. */
export function createStdoutSettings(name: string): ReturnType<typeof stdout.toSettings> {
  return stdout.toSettings(z.parse(stdoutSchema, { type: 'stdout', name }), '.');
}
