import { Buffer } from 'node:buffer';
import { type ChildProcess, spawn } from 'node:child_process';
import { createSystemClock } from '../../base/index.ts';

/** The output of a command, or the reason for having none. `reason` completes "The command …". */
export type CommandOutput =
  | { readonly ok: true; readonly text: string; readonly mode: 0 }
  | { readonly ok: false; readonly reason: string };

/** Bounds of a command, and what it is run with. */
export interface CommandOptions {
  /** Longest secret. Bytes. */
  readonly bytesMax: number;
  /** Time limit, in real time. Milliseconds. */
  readonly msMax: number;
  /** Environment of this process. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A carriage return and a line feed. */
const LINE_END_BYTES = 2;
/** Output that a program has written when it ends is read within this time, though others may still hold it open. Milliseconds. */
const REST_MS_MAX = 250;

/**
 * Variables that a command gets, if they are set. The others may be secrets that are meant for the agent; what a command needs
 * besides is set by `env`: `[env, VAULT_ADDR=https://…, vault, …]`.
 */
const COMMAND_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'],
  ...['XDG_RUNTIME_DIR', 'CREDENTIALS_DIRECTORY'],
];

/**
 * Runs a program without a shell, and returns what it writes. What it has started ends with it, unless it is in a process group
 * of its own, as a daemon is. Never rejects. Messages never quote its output.
 */
export function runSecretCommand(
  { args: [program = '', ...args], folder }: { readonly args: readonly string[]; readonly folder: string },
  options: CommandOptions,
): Promise<CommandOutput> {
  try {
    const env = Object.fromEntries(
      COMMAND_VARIABLES.flatMap((name) => {
        const value = options.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
    // A group of its own, so that what it has started can be ended as well.
    const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    return awaitOutput(child, options);
  } catch (cause) {
    // Some failures are thrown, in words that may quote an argument.
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'its arguments are not valid';
    return Promise.resolve({ ok: false, reason: `cannot be run (${code})` });
  }
}

function awaitOutput(child: ChildProcess, { bytesMax, msMax }: CommandOptions): Promise<CommandOutput> {
  const { promise, resolve } = Promise.withResolvers<CommandOutput>();
  const clock = createSystemClock();
  const parts: Buffer[] = [];
  let length = 0;
  const refuse = (reason: string) => resolve({ ok: false, reason });
  const limit = clock.setTimer(msMax, () => refuse(`takes longer than ${msMax / 1000} s`));
  child.stdout?.on('data', (part: Buffer) => {
    length += part.length;
    parts.push(part);
    if (length > bytesMax + LINE_END_BYTES) refuse(`writes more than ${bytesMax} bytes`);
  });
  child.once('error', (cause) => refuse(`cannot be run (${'code' in cause ? String(cause.code) : 'unknown reason'})`));
  child.once('exit', (code) => {
    if (code === null) return refuse('cannot be run (a signal has ended it)');
    if (code !== 0) return refuse(`ends with exit code ${code}`);
    const finish = () => {
      rest.cancel();
      resolve({ ok: true, text: Buffer.concat(parts).toString('utf8'), mode: 0 });
    };
    const rest = clock.setTimer(REST_MS_MAX, finish);
    child.once('close', finish);
  });
  return promise.finally(() => {
    limit.cancel();
    endGroup(child);
    // A daemon may hold it open.
    child.stdout?.destroy();
  });
}

/** Ends a command, and what it has started in its group. */
function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
