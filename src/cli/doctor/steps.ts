import { type Clock, explainError } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { OffsetEvidence, RouterTime } from '../../logs/index.ts';
import type { RouterClient, RouterProbe, ShownCertificate } from '../../router/index.ts';

/** Facts about a router that the doctor collects on the way. */
export interface Learnt {
  /** Certificate of the TLS handshake. */
  certificate?: ShownCertificate | undefined;
  /** TLS version, such as `TLSv1.3`. */
  tlsVersion?: string | undefined;
  /** Group of the account, or that it may not read the configuration that contains it. */
  account?: { readonly group: string } | 'no configuration' | undefined;
  /** Number of logs, of their files, and of files with unknown names. */
  logs?: { readonly components: number; readonly files: number; readonly unknown: number } | undefined;
  /** True when log downloads support ranges. */
  hasRanges?: boolean | undefined;
  /** True when log downloads carry an entity tag. */
  hasEntityTags?: boolean | undefined;
  /** Content encoding of log downloads, such as `gzip`. */
  encoding?: string | undefined;
  /** Format of a rotated file, such as `bzip2` or `text`. */
  archives?: string | undefined;
  /** UTC offset shown by the newest rotation, and the log it belongs to. */
  offset?: (OffsetEvidence & { readonly component: string }) | undefined;
  /** UTC offsets shown by the newest rotations of a few logs, by component. */
  rotations?: ReadonlyMap<string, OffsetEvidence> | undefined;
  /** The router's local and UTC time, from one response. */
  time?: RouterTime | undefined;
  /** The router's clock minus this machine's, in milliseconds; the router's resolution is 1 s. */
  clockOffsetMs?: number | undefined;
}

/** The doctor's result for one router. */
export interface RouterReport {
  /** Configured name. */
  readonly router: string;
  /** Configured address. */
  readonly url: string;
  /** The worst verdict of the steps. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** All steps in order. */
  readonly steps: readonly Step[];
  /** Facts collected on the way. */
  readonly learnt: Readonly<Learnt>;
  /** Total duration in milliseconds. */
  readonly durationMs: number;
  /** Bytes on the wire, TLS included. */
  readonly bytes: { readonly sent: number; readonly received: number };
}

/** The dependencies of the doctor's stages. */
export interface Examination {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Client of its REST interface. */
  readonly client: RouterClient;
  /** Tests name, TCP and TLS before the client connects. */
  readonly probe: RouterProbe;
  /** Collects the steps. */
  readonly recorder: StepRecorder;
  /** Facts collected so far; stages add to them. */
  readonly learnt: Learnt;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
  /** Aborts when the command must end, or the router takes too long. */
  readonly signal: AbortSignal;
  /** True when a sink is configured. */
  readonly hasSinks: boolean;
  /** Removes secrets and control characters from a text of the router, and truncates it. */
  readonly clean: (text: string) => string;
}

/** The result of a step. A warning does not prevent data; a skipped step was not tried. */
export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

/** One step of the doctor. Its texts are truncated, and contain neither control characters nor secrets. */
export interface Step {
  /** Name of the step, such as `tls` or `status device_info`. */
  readonly step: string;
  /** Result of the step. */
  readonly verdict: Verdict;
  /** The finding, or the error with its causes. */
  readonly message: string;
  /** The remedy, with the configuration key if there is one. */
  readonly hint?: string | undefined;
  /** Duration in milliseconds; absent when skipped. */
  readonly durationMs?: number | undefined;
  /** Bytes on the wire, both directions; absent when skipped. */
  readonly bytes?: number | undefined;
}

/** The result of a step that did not throw. */
export interface Finding {
  /** The finding in words. */
  readonly message: string;
  /** Default `ok`. */
  readonly verdict?: Verdict | undefined;
  /** The remedy; absent when there is nothing to do. */
  readonly hint?: string | undefined;
}

/** Clock, counter and output of one examination. */
interface StepRecorderOptions {
  /** Measures the duration of steps. */
  readonly clock: Clock;
  /** Returns the bytes on the wire so far. */
  readonly countBytes: () => number;
  /** Removes secrets and control characters from a text, and truncates it. */
  readonly clean: (text: string) => string;
  /** Aborts when the command must end. */
  readonly signal: AbortSignal;
  /** Called with the name of each step when it begins. */
  readonly onStep: (step: string) => void;
}

/** Runs and records the steps with one router. */
export class StepRecorder {
  readonly #options: StepRecorderOptions;
  readonly #steps: Step[] = [];

  constructor(options: StepRecorderOptions) {
    this.#options = options;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  /**
   * Runs a step and records its result. Resolves to false when it failed; rejects only when the command must end. `hint` is
   * for errors without their own hint; a function chooses it by the error.
   */
  async run(
    step: string,
    work: () => Promise<Finding>,
    hint?: string | ((error: unknown) => string | undefined),
  ): Promise<boolean> {
    const { clock, countBytes, signal, onStep } = this.#options;
    onStep(step);
    const startedMs = clock.monotonic();
    const startedBytes = countBytes();
    let finding: Finding;
    try {
      finding = await work();
      signal.throwIfAborted();
    } catch (error) {
      signal.throwIfAborted();
      finding = toFailure(error, typeof hint === 'function' ? hint(error) : hint);
    }
    const cost = { durationMs: clock.monotonic() - startedMs, bytes: countBytes() - startedBytes };
    return this.#add(step, finding, cost);
  }

  /** Records a finding that needs no work. */
  note(step: string, finding: Finding): void {
    this.#add(step, finding, {});
  }

  skip(step: string, message: string): void {
    this.note(step, { verdict: 'skipped', message });
  }

  #add(step: string, { message, verdict = 'ok', hint }: Finding, cost: Pick<Step, 'durationMs' | 'bytes'>): boolean {
    const { clean } = this.#options;
    this.#steps.push({
      step: clean(step),
      verdict,
      message: clean(message),
      ...(hint !== undefined && { hint: clean(hint) }),
      ...cost,
    });
    return verdict !== 'failed';
  }
}

/** Converts an error to a finding. `hint` is for errors without their own. */
export function toFailure(error: unknown, hint?: string): Finding {
  const explained = explainError(error);
  return { verdict: 'failed', message: explained.reason, hint: explained.hint ?? hint };
}

/** Returns the worst verdict of several steps. */
export function judge(steps: readonly { readonly verdict: Verdict }[]): 'ok' | 'warning' | 'failed' {
  const verdicts = new Set(steps.map(({ verdict }) => verdict));
  if (verdicts.has('failed')) return 'failed';
  return verdicts.has('warning') ? 'warning' : 'ok';
}

/** Maximum length of text from outside. */
const TEXT_LENGTH_MAX = 600;
/** Masking shorter secrets would mask ordinary words. */
const SECRET_LENGTH_MIN = 6;

/** Creates the function that removes secrets and control characters from texts, and truncates them. */
export function createCleaner(secrets: readonly string[]): (text: string) => string {
  const held = secrets.filter((secret) => secret.length >= SECRET_LENGTH_MIN);
  return (text) => {
    const blanked = held.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    const line = blanked.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
    return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX - 1)}…` : line;
  };
}
