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
}

/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
