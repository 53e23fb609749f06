import { fstatSync, writeSync } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { escapeForTerminal, renderErrorChain } from '../../base/index.ts';

/** The parts of the process that a command uses. */
export interface CommandIo {
  /** Answers to confirmations. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** The agent's own log, and messages for people. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Calls `listener` at every SIGHUP from now on. Without a listener, SIGHUP ends the process. */
  readonly onHangup: (listener: () => void) => void;
}

/**
 * Writes a result and resolves when the system has accepted it, so that a slow reader loses nothing at the end. On a terminal
 * the control characters in it that JSON does not escape are escaped.
 */
export function writeResult(result: string | Uint8Array, io: CommandIo): Promise<void> {
  const shown = io.stdout.isTTY && typeof result === 'string' ? escapeForTerminal(result) : result;
  // If the reader has gone away, the signal ends the command.
  return new Promise((resolve) => void io.stdout.write(shown, () => resolve()));
}

/** Renders a value as the JSON that commands print: indented, with a line end. */
export function renderJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A command that ends when its results cannot be written any more. */
interface ReadCommand {
  /** Its signal also aborts when the reader of stdout goes away, or the disk of its file is full. */
  readonly io: CommandIo;
  /** Returns the exit code of a command that has ended with `code`: failed without its results, which is said unless nobody reads. */
  readonly judge: (code: ExitCode) => ExitCode;
}

/** Makes a command end with the reader of its results. */
export function endWithReader(io: CommandIo): ReadCommand {
  const gone = new AbortController();
  io.stdout.on('error', (cause) => gone.abort(cause));
  return {
    io: { ...io, signal: AbortSignal.any([io.signal, gone.signal]) },
    judge(code) {
      if (!gone.signal.aborted) return code;
      if (Object(gone.signal.reason).code !== 'EPIPE') {
        io.stderr.write(`The output could not be written: ${renderErrorChain(gone.signal.reason)}\n`);
      }
      return code === EXIT.done ? EXIT.failed : code;
    },
  };
}

/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
/** Exit codes of all commands: see {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Returns the output to the file that a descriptor is of; `undefined` for a pipe, a terminal or a closed descriptor. */
export function openFileOutput(descriptor: number): Writable | undefined {
  try {
    if (!fstatSync(descriptor).isFile()) return undefined;
  } catch {
    return undefined;
  }
  return new FileOutput(descriptor);
}

/**
 * Output to a file. That of Node.js writes once and takes a part for the whole: where a disk becomes full, the rest is missing,
 * and nobody is told.
 */
class FileOutput extends Writable {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    super();
    this.#descriptor = descriptor;
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
      done();
    } catch (cause) {
      done(cause instanceof Error ? cause : new TypeError(String(cause)));
    }
  }
}
