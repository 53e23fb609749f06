import { type Clock, explainError } from '../base/index.ts';

/** How a step ended. A warning does not stand in the way of data; what is skipped was not tried. */
export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

/** One thing that the doctor tried. The texts are bounded and without control characters and secrets. */
export interface Step {
  readonly step: string;
  readonly verdict: Verdict;
  /** What was found, or what stood in the way with its causes. */
  readonly message: string;
  /** What to do about it; names the key of the configuration where there is one. */
  readonly hint?: string | undefined;
  /** Milliseconds; absent when it was skipped. */
  readonly durationMs?: number | undefined;
  /** On the wire, both directions; absent when it was skipped. */
  readonly bytes?: number | undefined;
}

/** What a step that did not fail has found. */
export interface Finding {
  readonly message: string;
  /** Default `ok`. */
  readonly verdict?: Verdict | undefined;
  readonly hint?: string | undefined;
}

export interface StepRecorderOptions {
  /** Clock for the duration of steps. */
  readonly clock: Clock;
  /** Bytes on the wire so far. */
  readonly countBytes: () => number;
  /** Makes a text fit to be shown. */
  readonly clean: (text: string) => string;
  /** Abandons everything: the command is to end. */
  readonly signal: AbortSignal;
  /** Told the name of the step that begins. */
  readonly onStep: (step: string) => void;
}

/** The steps with one router in their order. */
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
   * Carries a step out and writes down what came of it. Resolves with whether it did not fail; rejects only when the command is
   * to end. `hint` is for failures that do not bring their own.
   */
  async run(step: string, work: () => Promise<Finding>, hint?: string): Promise<boolean> {
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
      finding = toFailure(error, hint);
    }
    const cost = { durationMs: clock.monotonic() - startedMs, bytes: countBytes() - startedBytes };
    return this.#add(step, finding, cost);
  }

  /** Writes down what needs no work. */
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

/** What an error says, as a finding. `hint` is for one that does not bring its own. */
export function toFailure(error: unknown, hint?: string): Finding {
  const explained = explainError(error);
  return { verdict: 'failed', message: explained.reason, hint: explained.hint ?? hint };
}

/** Of several steps: failed when one has failed, else a warning when there is one. */
export function judge(steps: readonly { readonly verdict: Verdict }[]): 'ok' | 'warning' | 'failed' {
  const verdicts = new Set(steps.map(({ verdict }) => verdict));
  if (verdicts.has('failed')) return 'failed';
  return verdicts.has('warning') ? 'warning' : 'ok';
}

/** Longest text that is shown of anything that came from outside. */
const TEXT_LENGTH_MAX = 600;
/** A secret shorter than this would blank out ordinary words. */
const SECRET_LENGTH_MIN = 6;

/** Takes secrets and control characters out of texts, and bounds them. */
export function createCleaner(secrets: readonly string[]): (text: string) => string {
  const held = secrets.filter((secret) => secret.length >= SECRET_LENGTH_MIN);
  return (text) => {
    const blanked = held.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    const line = blanked.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
    return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX - 1)}…` : line;
  };
}
