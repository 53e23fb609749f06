import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { type Clock, createSystemClock, Secret, Steps } from '../../base/index.ts';
import { readTextFile, type TextFile } from './text-file.ts';

/** What stood in the way of a secret. `reason` completes "The file …". */
interface Unread {
  readonly ok: false;
  readonly fault: 'unreadable' | 'empty' | 'other';
  readonly reason: string;
}

/** A secret as it was read, or why it could not be. */
export type ReadSecret =
  | {
      readonly ok: true;
      readonly secret: Secret;
      /** Permission bits of its file; 0 for a command. */
      readonly mode: number;
    }
  | Unread;

/** Requirements on a secret that is read. */
export interface SecretKind {
  /** Completes "Expected a file that holds …". */
  readonly expected: string;
  /** Default: every text is valid. */
  readonly isValid?: (text: string) => boolean;
  /** Default: 4096. */
  readonly bytesMax?: number;
}

/** Where a secret is read from. */
export type SecretOrigin =
  | { readonly kind: 'file'; readonly path: string }
  /** A program and its arguments, run in a folder. */
  | { readonly kind: 'command'; readonly args: readonly string[]; readonly folder: string };

/** What became of a secret that was read again. */
export type SecretEvent =
  | { readonly type: 'secret-changed'; readonly name: string; readonly before: string }
  /** The value before stays in use. Reported once, until it can be read. */
  | { readonly type: 'secret-unreadable'; readonly name: string; readonly reason: string };

/** Longer than any password a router accepts. */
export const PASSWORD_FILE_BYTES_MAX = 4096;
/** Time limit of a command. Milliseconds. */
const COMMAND_MS_MAX = 10_000;
/** More output of a command, errors included, ends it. */
const OUTPUT_BYTES_MAX = 64 * 1024;
/** A carriage return and a line feed. */
const LINE_END_BYTES = 2;
/** A command is not run again sooner: a refused login of many routers is one reason. Milliseconds. */
const COMMAND_INTERVAL_MS = 10_000;

interface Kept {
  readonly secret: WeakRef<Secret>;
  readonly origin: SecretOrigin;
  readonly read: () => Promise<Content>;
  stamp: string;
  isReported: boolean;
}

type Content = { readonly ok: true; readonly value: string; readonly mode: number } | Unread;

/** Clock and limits of a keeper. */
export interface SecretKeeperOptions {
  /** Measures the time between two runs of a command. Default: that of the system. */
  readonly clock?: Clock | undefined;
  /** Time limit of a command, in real time. Milliseconds, default 10 s. */
  readonly commandMsMax?: number | undefined;
}

/** Reads secrets from files and commands, each once for all who use it, and again when they change or are refused. */
export class SecretKeeper {
  readonly #clock: Clock;
  readonly #commandMsMax: number;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<void>>();
  /** When commands last ended. Monotonic, milliseconds. */
  readonly #ranMs = new Map<string, number>();
  readonly #listeners: ((event: SecretEvent) => void)[] = [];

  constructor(options: SecretKeeperOptions = {}) {
    this.#clock = options.clock ?? createSystemClock();
    this.#commandMsMax = options.commandMsMax ?? COMMAND_MS_MAX;
  }

  /** Adds a listener for secrets that were read again. */
  onEvent(listener: (event: SecretEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads a secret. The same origin gives the same object as long as somebody holds it, with the value that was just read. */
  async read(origin: SecretOrigin, kind: SecretKind): Promise<ReadSecret> {
    const key = JSON.stringify([origin, kind.expected]);
    const read = () => readContent(origin, kind, this.#commandMsMax);
    // Before the content, so that a change in between is seen.
    const stamp = await readStamp(origin);
    const content = await read();
    if (!content.ok) return content;
    const kept = this.#kept.get(key);
    const known = kept?.secret.deref();
    if (kept && known) {
      kept.stamp = stamp;
      this.#take(kept, known, content);
      return { ok: true, secret: known, mode: content.mode };
    }
    const secret = new Secret(content.value, { id: key, renew: () => this.#renew(key) });
    this.#kept.set(key, { secret: new WeakRef(secret), origin, read, stamp, isReported: false });
    return { ok: true, secret, mode: content.mode };
  }

  /** Reads those again whose file has changed. Never rejects. */
  async refresh(): Promise<void> {
    const steps = new Steps();
    for (const [key, kept] of this.#kept) {
      const secret = kept.secret.deref();
      if (!secret) this.#kept.delete(key);
      if (!secret || kept.origin.kind !== 'file') continue;
      const stamp = await readStamp(kept.origin);
      if (stamp !== kept.stamp) await this.#readAgain(kept, secret, stamp);
      if (steps.isDue) await steps.next();
    }
  }

  /** Reads one again, once for all who ask at the same time. */
  async #renew(key: string): Promise<void> {
    const kept = this.#kept.get(key);
    const secret = kept?.secret.deref();
    if (!kept || !secret) return;
    const ranMs = this.#ranMs.get(key) ?? Number.NEGATIVE_INFINITY;
    if (kept.origin.kind === 'command' && this.#clock.monotonic() - ranMs < COMMAND_INTERVAL_MS) return;
    const underWay = this.#underWay.get(key) ?? this.#readAgain(kept, secret, kept.stamp);
    this.#underWay.set(key, underWay);
    try {
      await underWay;
    } finally {
      this.#underWay.delete(key);
      if (kept.origin.kind === 'command') this.#ranMs.set(key, this.#clock.monotonic());
    }
  }

  async #readAgain(kept: Kept, secret: Secret, stamp: string): Promise<void> {
    const content = await kept.read();
    // A file that cannot be read at this moment is looked at again.
    if (content.ok) kept.stamp = stamp;
    this.#take(kept, secret, content);
  }

  #report(event: SecretEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #take(kept: Kept, secret: Secret, content: Content): void {
    const name = renderOrigin(kept.origin);
    if (!content.ok) {
      if (!kept.isReported) this.#report({ type: 'secret-unreadable', name, reason: content.reason });
      kept.isReported = true;
      return;
    }
    kept.isReported = false;
    const before = secret.reveal();
    if (before === content.value) return;
    secret.replace(content.value);
    this.#report({ type: 'secret-changed', name, before });
  }
}

/** Without the arguments of a command, of which one may be secret. */
function renderOrigin(origin: SecretOrigin): string {
  return origin.kind === 'file' ? origin.path : `the command ${origin.args[0]}`;
}

async function readContent(origin: SecretOrigin, kind: SecretKind, commandMsMax: number): Promise<Content> {
  const { bytesMax = PASSWORD_FILE_BYTES_MAX, expected, isValid } = kind;
  const text =
    origin.kind === 'file'
      ? await readTextFile(origin.path, bytesMax)
      : await runCommand(origin, bytesMax, commandMsMax);
  if (!text.ok) return { ...text, fault: 'unreadable' };
  const value = text.text.replace(/\r?\n$/, '');
  if (value === '') return { ok: false, fault: 'empty', reason: `is empty; expected ${expected}` };
  if (isValid?.(value) === false) {
    return { ok: false, fault: 'other', reason: `holds something else than ${expected}` };
  }
  return { ok: true, value, mode: text.mode };
}

/** Text that differs when a file has changed; empty for a command. */
async function readStamp(origin: SecretOrigin): Promise<string> {
  if (origin.kind === 'command') return '';
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(origin.path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return '';
  }
}

type Output = Pick<TextFile & { readonly ok: true }, 'ok' | 'text' | 'mode'> | (TextFile & { readonly ok: false });

/** Runs a program without a shell, and returns what it writes. Messages never quote its output. */
function runCommand(
  { args: [program = '', ...args], folder }: Extract<SecretOrigin, { kind: 'command' }>,
  bytesMax: number,
  msMax: number,
): Promise<Output> {
  const { promise, resolve } = Promise.withResolvers<Output>();
  // What it says besides does not count against the secret.
  const options = { cwd: folder, timeout: msMax, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES_MAX } as const;
  const refuse = (reason: string) => resolve({ ok: false, reason });
  try {
    const child = execFile(program, args, options, (error, stdout) => {
      if (error) refuse(explainEnd(error, OUTPUT_BYTES_MAX, msMax));
      else if (Buffer.byteLength(stdout) > bytesMax + LINE_END_BYTES) refuse(`writes more than ${bytesMax} bytes`);
      else resolve({ ok: true, text: stdout, mode: 0 });
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end();
  } catch (cause) {
    // Some failures are thrown, in words that may quote an argument.
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'its arguments are not valid';
    refuse(`cannot be run (${code})`);
  }
  return promise;
}

function explainEnd(
  error: Error & { code?: unknown; killed?: boolean | undefined },
  bytesMax: number,
  msMax: number,
): string {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `writes more than ${bytesMax} bytes`;
  if (error.killed === true) return `takes longer than ${msMax / 1000} s`;
  if (typeof error.code === 'number') return `ends with exit code ${error.code}`;
  return `cannot be run (${typeof error.code === 'string' ? error.code : 'a signal has ended it'})`;
}
