import { type Clock, createSystemClock, Secret, Steps } from '../../base/index.ts';
import { runSecretCommand } from './secret-command.ts';
import { readFileStamp, readTextFile } from './text-file.ts';

/** The reason why a secret cannot be read. `reason` completes "The file …". */
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

/** Origin of a secret. */
export type SecretOrigin =
  | { readonly kind: 'file'; readonly path: string }
  /** A program and its arguments, run in a folder. */
  | { readonly kind: 'command'; readonly args: readonly string[]; readonly folder: string };

/** Result of reading a secret again. */
export type SecretEvent =
  | { readonly type: 'secret-changed'; readonly name: string; readonly before: string }
  /** The value before stays in use. Reported once, until it can be read. */
  | { readonly type: 'secret-unreadable'; readonly name: string; readonly reason: string };

/** Longer than any password a router accepts. */
const PASSWORD_FILE_BYTES_MAX = 4096;
/** Time limit of a command. Milliseconds. */
const COMMAND_MS_MAX = 10_000;
/** A command is not run again sooner: a refused login of many routers is one reason. Milliseconds. */
const COMMAND_INTERVAL_MS = 10_000;

interface Kept {
  readonly secret: WeakRef<Secret>;
  readonly origin: SecretOrigin;
  readonly kind: SecretKind;
  /** Stamp of the file when it was read; differs once the file has changed. */
  stamp: string;
  isReported: boolean;
}

type Content = { readonly ok: true; readonly value: string; readonly mode: number } | Unread;

interface Reading {
  readonly content: Content;
  /** Stamp of the file, taken before its content, so that a change in between is seen. */
  readonly stamp: string;
}

/** Clock and limits of a keeper. */
export interface SecretKeeperOptions {
  /** Measures the time between two runs of a command. Default: that of the system. */
  readonly clock?: Clock | undefined;
  /** Time limit of a command, in real time. Milliseconds, default 10 s. */
  readonly commandMsMax?: number | undefined;
  /** Environment of this process, of which commands get a few variables. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Reads secrets from files and commands, each once for all who use it, and again when they change or are refused. */
export class SecretKeeper {
  readonly #clock: Clock;
  readonly #commandMsMax: number;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<Reading>>();
  /** Times at which commands last ended. Monotonic milliseconds. */
  readonly #ranMs = new Map<string, number>();
  readonly #listeners: ((event: SecretEvent) => void)[] = [];

  constructor(options: SecretKeeperOptions = {}) {
    this.#clock = options.clock ?? createSystemClock();
    this.#commandMsMax = options.commandMsMax ?? COMMAND_MS_MAX;
    this.#env = options.env ?? {};
  }

  /** Adds a listener for secrets that were read again. */
  onEvent(listener: (event: SecretEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads a secret. The same origin gives the same object as long as somebody holds it, with the value that was just read. */
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

  /** Reads those again whose file has changed. Never rejects. */
  async refresh(): Promise<void> {
    const steps = new Steps();
    for (const [key, kept] of this.#kept) {
      const secret = kept.secret.deref();
      if (!secret) this.#kept.delete(key);
      if (!secret || kept.origin.kind !== 'file') continue;
      if ((await readStamp(kept.origin)) !== kept.stamp) await this.#readAgain(key, kept, secret);
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
    await this.#readAgain(key, kept, secret);
    if (kept.origin.kind === 'command') this.#ranMs.set(key, this.#clock.monotonic());
  }

  /** One reading at a time, so that an older one that ends later does not bring back the value before. Never rejects. */
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
      // The stamp stays: a file that cannot be read at this moment is looked at again.
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

/** Without the arguments of a command, of which one may be secret. */
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

/** Text that differs when a file has changed; empty for a command. */
async function readStamp(origin: SecretOrigin): Promise<string> {
  return origin.kind === 'command' ? '' : await readFileStamp(origin.path);
}
