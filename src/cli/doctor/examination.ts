import { type Clock, explainError } from '../../base/index.ts';
import type { ConnectionCheck, RouterClient, ShownCertificate } from '../../client/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { OffsetEvidence, RouterTime } from '../../logs/index.ts';
import { explainFailure, RouterReadError } from '../../model/index.ts';
import type { MonthUse } from '../support/month-use.ts';

export interface Learnt {
  certificate?: ShownCertificate | undefined;
  tlsVersion?: string | undefined;
  /** Or the account may not read the configuration that contains its group. */
  account?: { readonly group: string } | 'no configuration' | undefined;
  /** `unknown`: files with unknown names. */
  logs?: { readonly components: number; readonly files: number; readonly unknown: number } | undefined;
  hasRanges?: boolean | undefined;
  hasEntityTags?: boolean | undefined;
  encoding?: string | undefined;
  archives?: string | undefined;
  /** UTC offset from the newest rotation, and the log it belongs to. */
  offset?: (OffsetEvidence & { readonly component: string }) | undefined;
  /** UTC offsets from the newest rotations of a few logs, by component. */
  rotations?: ReadonlyMap<string, OffsetEvidence> | undefined;
  /** Local and UTC time, from one response. */
  time?: RouterTime | undefined;
  /** Router's clock minus this machine's, in milliseconds, with a resolution of 1 s. */
  clockOffsetMs?: number | undefined;
}

export interface RouterReport {
  readonly router: string;
  readonly url: string;
  readonly verdict: 'ok' | 'warning' | 'failed';
  readonly steps: readonly Step[];
  readonly learnt: Readonly<Learnt>;
  readonly durationMs: number;
  readonly month: MonthUse;
  /** On the wire, TLS included. */
  readonly bytes: { readonly sent: number; readonly received: number };
}

export interface Examination {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
  /** Tests name, TCP and TLS before the client connects. */
  readonly probe: ConnectionCheck;
  readonly recorder: StepRecorder;
  readonly learnt: Learnt;
  readonly clock: Clock;
  /** Aborts when the command must end, or the router takes too long. */
  readonly signal: AbortSignal;
  readonly hasSinks: boolean;
  /** Removes secrets and control characters, and truncates. */
  readonly clean: (text: string) => string;
}

/** A warning does not prevent data; a skipped step was not tried. */
export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

/** Its texts are truncated, without control characters and secrets. */
export interface Step {
  /** Such as `tls` or `status device_info`. */
  readonly step: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** Why a request to a router failed, as in the label `reason`. */
  readonly reason?: string | undefined;
  /** What to do, with the configuration key if there is one. */
  readonly hint?: string | undefined;
  /** Absent if skipped. */
  readonly durationMs?: number | undefined;
  /** On the wire, in both directions. Absent if skipped. */
  readonly bytes?: number | undefined;
}

export interface Finding {
  readonly message: string;
  readonly verdict?: Verdict | undefined;
  readonly reason?: string | undefined;
  readonly hint?: string | undefined;
}

interface StepRecorderOptions {
  readonly clock: Clock;
  readonly countBytes: () => number;
  readonly clean: (text: string) => string;
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
}

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
   * Runs and records a step. Resolves to false if it failed; rejects only when the command must end. `hint` is for
   * errors without their own hint.
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

  record(step: string, finding: Finding): void {
    this.#add(step, finding, {});
  }

  skip(step: string, message: string): void {
    this.record(step, { verdict: 'skipped', message });
  }

  #add(
    step: string,
    { message, verdict = 'ok', reason, hint }: Finding,
    cost: Pick<Step, 'durationMs' | 'bytes'>,
  ): boolean {
    const { clean } = this.#options;
    this.#steps.push({
      step: clean(step),
      verdict,
      message: clean(message),
      ...(reason !== undefined && { reason }),
      ...(hint !== undefined && { hint: clean(hint) }),
      ...cost,
    });
    return verdict !== 'failed';
  }
}

/** `hint` is for errors without their own. Default: that of pages and log. */
export function toFailure(error: unknown, hint?: string): Finding {
  const explained = explainError(error);
  const reason = error instanceof RouterReadError ? error.code : undefined;
  const sentence = reason === undefined ? undefined : explainFailure(reason);
  return { verdict: 'failed', message: explained.reason, reason, hint: explained.hint ?? hint ?? sentence };
}

export function judge(steps: readonly { readonly verdict: Verdict }[]): 'ok' | 'warning' | 'failed' {
  const verdicts = new Set(steps.map(({ verdict }) => verdict));
  if (verdicts.has('failed')) return 'failed';
  return verdicts.has('warning') ? 'warning' : 'ok';
}

const TEXT_LENGTH_MAX = 600;
/** Masking shorter secrets would mask ordinary words. */
const SECRET_LENGTH_MIN = 6;

export function createCleaner(secrets: readonly string[]): (text: string) => string {
  const held = secrets.filter((secret) => secret.length >= SECRET_LENGTH_MIN);
  return (text) => {
    const blanked = held.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    const line = blanked.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
    return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX - 1)}…` : line;
  };
}
