import type { Clock } from '../../../base/index.ts';
import type { DeliveryError } from '../../errors.ts';

/** A stream that is about to get a leader again has nobody who answers for its subjects; after this time there is no such stream. */
const UNSERVED_MS_MAX = 5 * 60_000;
/** Subjects that are remembered; more are judged anew. */
const SUBJECTS_MAX = 10_000;
/** Answers to a message that nobody receives, and to one that another stream stores than the one that is expected. */
const [NO_RESPONDERS, OTHER_STREAM] = ['503', '10060'];

/**
 * Tells faults of one subject from those of the whole sink, over one connection: the account may not publish to it, or no stream
 * stores it, while others are acknowledged. Its records must not hold up those of other logs.
 */
export class SubjectFaults {
  readonly #clock: Clock;
  /** Two of the subjects that were acknowledged: one of them is another one than that in question. */
  readonly #acknowledged: string[] = [];
  readonly #faulty = new Set<string>();
  /** Since when nobody receives a subject. Monotonic milliseconds. */
  readonly #unservedSinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if the records of a subject are refused until one of them is acknowledged. */
  has(subject: string): boolean {
    return this.#faulty.has(subject);
  }

  /** A message of this subject was acknowledged. */
  noteAcknowledged(subject: string): void {
    if (this.#acknowledged.length < 2 && !this.#acknowledged.includes(subject)) this.#acknowledged.push(subject);
    this.#faulty.delete(subject);
    this.#unservedSinceMs.delete(subject);
  }

  /** Returns true if this failure is one of its subject alone. */
  isOwn(subject: string, error: DeliveryError): boolean {
    if (this.#faulty.has(subject)) return isOfSubject(error) || error.answer === NO_RESPONDERS;
    const hasOthers = this.#acknowledged.some((other) => other !== subject);
    if (!hasOthers || !(isOfSubject(error) || this.#isUnserved(subject, error))) return false;
    if (this.#faulty.size >= SUBJECTS_MAX) this.#faulty.clear();
    this.#faulty.add(subject);
    return true;
  }

  #isUnserved(subject: string, { answer }: DeliveryError): boolean {
    if (answer !== NO_RESPONDERS) return false;
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#unservedSinceMs.get(subject) ?? nowMs;
    if (this.#unservedSinceMs.size >= SUBJECTS_MAX) this.#unservedSinceMs.clear();
    this.#unservedSinceMs.set(subject, sinceMs);
    return nowMs - sinceMs >= UNSERVED_MS_MAX;
  }
}

/** Returns true if the server says it of the subject, and not of the moment. */
function isOfSubject({ code, answer }: DeliveryError): boolean {
  return code === 'unauthorized' || answer === OTHER_STREAM;
}
