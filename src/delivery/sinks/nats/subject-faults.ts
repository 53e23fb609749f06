import type { Clock } from '../../../base/index.ts';
import type { DeliveryError } from '../../errors.ts';
import { SUBJECT_FULL } from './errors.ts';

/** A stream may be about to be created, or to be created anew; a consumer may be about to make room. Milliseconds. */
const WAIT_MS_MAX = 5 * 60_000;
/** Subjects that are remembered; more are judged anew. */
const SUBJECTS_MAX = 10_000;
/** Answers to a message that nobody receives, and to one that another stream stores than the one that is expected. */
const [NO_RESPONDERS, OTHER_STREAM] = ['503', '10060'];

/**
 * Tells faults of one subject from those of the whole sink, over one connection: the account may not publish to it while another
 * one was acknowledged, its part of the stream stays full, or no stream stores it. Its records must not hold up those of other logs.
 */
export class SubjectFaults {
  readonly #clock: Clock;
  readonly #isStored: (subject: string) => Promise<boolean>;
  /** Two of the subjects that were acknowledged: one of them is another one than that in question. */
  readonly #acknowledged: string[] = [];
  readonly #faulty = new Set<string>();
  /** Since when nobody receives a subject, or it is full. Monotonic milliseconds. */
  readonly #waitingSinceMs = new Map<string, number>();

  /** `isStored` asks if there is a stream for a subject; true also when the server does not say. */
  constructor(clock: Clock, isStored: (subject: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#isStored = isStored;
  }

  /** True if the last message of a subject was refused because of it. */
  has(subject: string): boolean {
    return this.#faulty.has(subject);
  }

  /** A message of this subject was acknowledged. */
  noteAcknowledged(subject: string): void {
    if (this.#acknowledged.length < 2 && !this.#acknowledged.includes(subject)) this.#acknowledged.push(subject);
    this.#faulty.delete(subject);
    this.#waitingSinceMs.delete(subject);
  }

  /** Resolves to true if this failure is one of its subject alone. */
  async isOwn(subject: string, error: DeliveryError): Promise<boolean> {
    if (!(await this.#mayBeBlamed(subject, error))) return false;
    if (this.#faulty.size >= SUBJECTS_MAX) this.#faulty.clear();
    this.#faulty.add(subject);
    return true;
  }

  async #mayBeBlamed(subject: string, error: DeliveryError): Promise<boolean> {
    const isOtherAcknowledged = this.#acknowledged.some((other) => other !== subject);
    if (isOfSubject(error)) return isOtherAcknowledged;
    if (error.answer !== NO_RESPONDERS && error.answer !== SUBJECT_FULL) return false;
    if (!this.#hasWaited(subject)) return false;
    return error.answer === SUBJECT_FULL ? isOtherAcknowledged : !(await this.#isStored(subject));
  }

  #hasWaited(subject: string): boolean {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#waitingSinceMs.get(subject) ?? nowMs;
    if (this.#waitingSinceMs.size >= SUBJECTS_MAX) this.#waitingSinceMs.clear();
    this.#waitingSinceMs.set(subject, sinceMs);
    return nowMs - sinceMs >= WAIT_MS_MAX;
  }
}

/** Returns true if the server says it of the subject, and not of the moment. */
function isOfSubject({ code, answer }: DeliveryError): boolean {
  return code === 'unauthorized' || answer === OTHER_STREAM;
}
