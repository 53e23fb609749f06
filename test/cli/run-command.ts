import { PassThrough, Readable, Writable } from 'node:stream';
import { runCli } from '../../src/cli/index.ts';

/** What a command that has ended has left. */
export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** What is typed; giving it makes stdin a terminal. */
  readonly typed?: string;
  /** Whether stderr is a terminal. Default false. */
  readonly isTerminal?: boolean;
  /** Whether stdout is a terminal. Default false. */
  readonly isShown?: boolean;
  /** Width of that terminal. Default: unknown. */
  readonly columns?: number;
  /** Ends the command early. */
  readonly signal?: AbortSignal;
  /** Called with what is written to stdout. */
  readonly onStdout?: (text: string) => unknown;
  /** Called with what is written to stderr. */
  readonly onStderr?: (text: string) => unknown;
}

/** Runs a command in this process. */
export async function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandEnd> {
  const output = { stdout: '', stderr: '' };
  const collect = (name: 'stdout' | 'stderr', isTTY: boolean) =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(chunk: string | Buffer, _encoding, done) {
          output[name] += chunk.toString();
          (name === 'stderr' ? options.onStderr : options.onStdout)?.(chunk.toString());
          done();
        },
      }),
      { isTTY, ...(options.columns !== undefined && { columns: options.columns }) },
    );
  const stdin = options.typed === undefined ? Readable.from([]) : new PassThrough().end(options.typed);
  const code = await runCli(args, {
    stdin: Object.assign(stdin, { isTTY: options.typed !== undefined }),
    stdout: collect('stdout', options.isShown === true),
    stderr: collect('stderr', options.isTerminal === true),
    signal: options.signal ?? new AbortController().signal,
    onHangup: () => {},
  });
  return { code, ...output };
}
