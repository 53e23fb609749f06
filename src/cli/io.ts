import type { Readable, Writable } from 'node:stream';

/** What a command has of the process around it. */
export interface CommandIo {
  /** Where answers to questions come from. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** The agent's own log, and words for a person. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts at the first signal that asks the process to end. */
  readonly signal: AbortSignal;
  /** Calls `listener` at every SIGHUP from now on, which ends the process while nobody listens. */
  readonly onHangup: (listener: () => void) => void;
}

/** Writes a result and resolves when the system has taken it, so that a slow reader loses nothing at the end. */
export function writeResult(result: string | Uint8Array, io: CommandIo): Promise<void> {
  // A reader that has gone away ends the command by its signal.
  return new Promise((resolve) => void io.stdout.write(result, () => resolve()));
}

/** The same surroundings with a signal that also aborts when nobody reads the results any more. */
export function endWithReader(io: CommandIo): CommandIo {
  const gone = new AbortController();
  io.stdout.on('error', () => gone.abort());
  return { ...io, signal: AbortSignal.any([io.signal, gone.signal]) };
}

/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
