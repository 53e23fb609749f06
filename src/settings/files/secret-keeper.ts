import { Buffer } from 'node:buffer';
import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, createSystemClock, Secret } from '../../base/index.ts';
import { readFileStamp, readTextFile } from './text-file.ts';

/** `reason` completes "The file …". */
interface Unread {
  readonly ok: false;
  readonly fault: 'unreadable' | 'empty' | 'other';
  readonly reason: string;
}

export type ReadSecret =
  | {
      readonly ok: true;
      readonly secret: Secret;
      readonly mode: number;
    }
  | Unread;

/** Requirements on a secret. */
export interface SecretKind {
  /** Completes "Expected a file that holds …". */
  readonly expected: string;
  /** Default: every text is valid. */
  readonly isValid?: (text: string) => boolean;
  /** Default: 4096. */
  readonly bytesMax?: number;
}

export type SecretOrigin =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly args: readonly string[]; readonly folder: string };

/** A secret was read again. */
export type SecretEvent =
  | { readonly type: 'secret-changed'; readonly name: string; readonly before: string }
  /** The previous value stays in use. Reported once, until it can be read. */
  | { readonly type: 'secret-unreadable'; readonly name: string; readonly reason: string };

/** Longer than any password a router accepts. */
const PASSWORD_FILE_BYTES_MAX = 4096;
const COMMAND_MS_MAX = 10_000;
/** Pause between two runs, because many routers may refuse a login at once. */
const COMMAND_INTERVAL_MS = 10_000;

interface Kept {
  readonly secret: WeakRef<Secret>;
  readonly origin: SecretOrigin;
  readonly kind: SecretKind;
  stamp: string;
  isReported: boolean;
}

type Content = { readonly ok: true; readonly value: string; readonly mode: number } | Unread;

interface Reading {
  readonly content: Content;
  /** Taken before the content, so that a change in between is detected. */
  readonly stamp: string;
}

/** Clock and limits of a keeper. */
export interface SecretKeeperOptions {
  /** Measures the pause between two runs of a command. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Time limit of a command, in real time. Milliseconds. Default: 10,000. */
  readonly commandMsMax?: number | undefined;
  /** Environment of this process; commands get a few of its variables. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Reads secrets from files and commands, each once for all users, and again when they change or are refused. */
export class SecretKeeper {
  readonly #clock: Clock;
  readonly #commandMsMax: number;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<Reading>>();
  /** End of the last run of each command, in monotonic milliseconds. */
  readonly #ranMs = new Map<string, number>();
  readonly #listeners: ((event: SecretEvent) => void)[] = [];

  constructor(options: SecretKeeperOptions = {}) {
    this.#clock = options.clock ?? createSystemClock();
    this.#commandMsMax = options.commandMsMax ?? COMMAND_MS_MAX;
    this.#env = options.env ?? {};
  }

  onEvent(listener: (event: SecretEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Returns the same object for the same origin while it is referenced, with the value that was just read. */
  async read(origin: SecretOrigin, kind: SecretKind): Promise<ReadSecret> {
    const key = JSON.stringify([origin, kind.expected]);
    const { content, stamp } = await this.#readOnce(key, origin, kind);
    if (!content.ok) return content;
    const kept = this.#kept.get(key);
    const known = kept?.secret.deref();
    if (kept && known) {
      this.#take(kept, known, { content, stamp });
      return { ok: true, secret: known, mode: content.mode };
    }
    const secret = new Secret(content.value, { id: key, renew: () => this.#renew(key) });
    this.#kept.set(key, { secret: new WeakRef(secret), origin, kind, stamp, isReported: false });
    return { ok: true, secret, mode: content.mode };
  }

  async refresh(): Promise<void> {
    for (const [key, kept] of this.#kept) {
      const secret = kept.secret.deref();
      if (!secret) this.#kept.delete(key);
      if (!secret || kept.origin.kind !== 'file') continue;
      if ((await readStamp(kept.origin)) !== kept.stamp) await this.#readAgain(key, kept, secret);
    }
  }

  async #renew(key: string): Promise<void> {
    const kept = this.#kept.get(key);
    const secret = kept?.secret.deref();
    if (!kept || !secret) return;
    const ranMs = this.#ranMs.get(key) ?? Number.NEGATIVE_INFINITY;
    if (kept.origin.kind === 'command' && this.#clock.monotonic() - ranMs < COMMAND_INTERVAL_MS) return;
    await this.#readAgain(key, kept, secret);
    if (kept.origin.kind === 'command') this.#ranMs.set(key, this.#clock.monotonic());
  }

  /** One reading at a time: an older one that ends later must not restore the previous value. Never rejects. */
  #readOnce(key: string, origin: SecretOrigin, kind: SecretKind): Promise<Reading> {
    const known = this.#underWay.get(key);
    if (known) return known;
    const reading = this.#readOrigin(origin, kind).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, reading);
    return reading;
  }

  async #readOrigin(origin: SecretOrigin, kind: SecretKind): Promise<Reading> {
    const stamp = await readStamp(origin);
    return { content: await readContent(origin, kind, { msMax: this.#commandMsMax, env: this.#env }), stamp };
  }

  async #readAgain(key: string, kept: Kept, secret: Secret): Promise<void> {
    this.#take(kept, secret, await this.#readOnce(key, kept.origin, kept.kind));
  }

  #report(event: SecretEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #take(kept: Kept, secret: Secret, { content, stamp }: Reading): void {
    const name = renderOrigin(kept.origin);
    if (!content.ok) {
      // Keep the old stamp, so that the file is read again.
      if (!kept.isReported) this.#report({ type: 'secret-unreadable', name, reason: content.reason });
      kept.isReported = true;
      return;
    }
    kept.stamp = stamp;
    kept.isReported = false;
    const before = secret.reveal();
    if (before === content.value) return;
    secret.replace(content.value);
    this.#report({ type: 'secret-changed', name, before });
  }
}

function renderOrigin(origin: SecretOrigin): string {
  return origin.kind === 'file' ? origin.path : `the command ${origin.args[0]}`;
}

async function readContent(
  origin: SecretOrigin,
  kind: SecretKind,
  command: { readonly msMax: number; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<Content> {
  const { bytesMax = PASSWORD_FILE_BYTES_MAX, expected, isValid } = kind;
  const text =
    origin.kind === 'file'
      ? await readTextFile(origin.path, bytesMax)
      : await runSecretCommand(origin, { ...command, bytesMax });
  if (!text.ok) return { ...text, fault: 'unreadable' };
  const value = text.text.replace(/\r?\n$/, '');
  if (value === '') return { ok: false, fault: 'empty', reason: `is empty; expected ${expected}` };
  if (isValid?.(value) === false) {
    return { ok: false, fault: 'other', reason: `holds something else than ${expected}` };
  }
  return { ok: true, value, mode: text.mode };
}

async function readStamp(origin: SecretOrigin): Promise<string> {
  return origin.kind === 'command' ? '' : await readFileStamp(origin.path);
}

type CommandOutput =
  | { readonly ok: true; readonly text: string; readonly mode: 0 }
  | { readonly ok: false; readonly reason: string };

interface CommandOptions {
  readonly bytesMax: number;
  /** In real time. */
  readonly msMax: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const LINE_END_BYTES = 2;
/** Time to read the remaining output after the program has ended, because other processes may hold it open. */
const REST_MS_MAX = 250;

/**
 * Variables that a command gets. Others may be secrets for the agent; set them with `env`: `[env, VAULT_ADDR=https://…,
 * vault, …]`.
 */
const COMMAND_VARIABLES: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'],
  ...['XDG_RUNTIME_DIR', 'CREDENTIALS_DIRECTORY'],
];

/**
 * Runs a program without a shell and returns its output. Its child processes end with it, except those with their own
 * process group, such as daemons. Messages never quote the output. Never rejects.
 */
function runSecretCommand(
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
    const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    return awaitOutput(child, options);
  } catch (cause) {
    // The message of the error may quote an argument.
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
    child.stdout?.destroy();
  });
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {}
}
