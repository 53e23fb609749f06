import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/index.ts';
import type { ShippedRecord } from '../../../model/index.ts';
import type { DeliveryError } from '../../contracts.ts';

const SITE_LABEL = 'site';
const NO_SITE = 'none';
/** Token of a site whose name is that of {@link NO_SITE}. */
const SITE_NAMED_NONE = '%6Eone';
/** Token of an empty name. No other name has it: in others, "%" is always followed by two characters. */
const EMPTY = '%';
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,128}$/;
/** Maximum length of a token. Servers accept a line of 4096 bytes, which may contain the subject and its reply. Characters. */
const TOKEN_MAX = 200;
/** Length kept of a longer token, before {@link CUT_MARK} and the hash of the name. Characters. */
const TOKEN_KEPT = 128;
const CUT_MARK = '%~';

/**
 * Returns the subject of a record: `<prefix>.<site or none>.<router>.<component>`, for an event of a router with its kind in
 * place of the component. Different names have different subjects: everything except letters, digits, `_` and `-` is written as `%` and two hexadecimal digits for each byte in UTF-8.
 */
export function toNatsSubject(prefix: string, { router, component, event, labels = {} }: ShippedRecord): string {
  const site = labels[SITE_LABEL];
  return `${prefix}.${site ? toSiteToken(site) : NO_SITE}.${toSubjectToken(router)}.${toSubjectToken(component ?? event ?? '')}`;
}

/** Returns true when a stream with this subject, which may contain wildcards, covers every subject below the prefix. */
export function isCovering(streamSubject: string, prefix: string): boolean {
  const wanted = [...prefix.split('.'), '*', '*', '*'];
  const offered = streamSubject.split('.');
  for (const [index, token] of offered.entries()) {
    if (token === '>') return index < wanted.length;
    if (token !== '*' && token !== wanted[index]) return false;
  }
  return offered.length === wanted.length;
}

function toSiteToken(site: string): string {
  return site === NO_SITE ? SITE_NAMED_NONE : toSubjectToken(site);
}

function toSubjectToken(name: string): string {
  if (PLAIN_NAME.test(name)) return name;
  if (name === '') return EMPTY;
  const token = name.replaceAll(/[^A-Za-z0-9_-]/gu, toEscapes);
  if (token.length <= TOKEN_MAX) return token;
  // As UTF-16, which distinguishes names that UTF-8 cannot encode.
  const hash = createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('base64url');
  return `${token.slice(0, TOKEN_KEPT)}${CUT_MARK}${hash}`;
}

function toEscapes(sign: string): string {
  // Half of a surrogate pair has no form in UTF-8.
  if (!sign.isWellFormed()) return `%u${sign.charCodeAt(0).toString(16)}`;
  return Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** The `answer` of the error when a subject is full. A full stream has the same error code. */
export const SUBJECT_FULL = 'max_msgs_per_subject';
/**
 * Time during which a stream may be (re)created, or a consumer may make room, before the subject counts as faulty.
 * Milliseconds.
 */
const WAIT_MS_MAX = 5 * 60_000;
/** Maximum number of remembered subjects; beyond it, all are judged again. */
const FAULTS_MAX = 10_000;
/** Answers to a message without a receiver, and to one that is stored by another stream than the expected one. */
const [NO_RESPONDERS, OTHER_STREAM] = ['503', '10060'];

/**
 * Distinguishes faults of one subject from those of the whole sink, over one connection: the account may not publish to it
 * while another one was acknowledged, its part of the stream stays full, or no stream stores it. Its records must not hold up
 * those of other logs.
 */
export class SubjectFaults {
  readonly #clock: Clock;
  readonly #isStored: (subject: string) => Promise<boolean>;
  /** Two of the acknowledged subjects: at least one differs from any subject in question. */
  readonly #acknowledged: string[] = [];
  readonly #faulty = new Set<string>();
  /** Since when a subject has no receiver or is full. Monotonic milliseconds. */
  readonly #waitingSinceMs = new Map<string, number>();

  /** `isStored` checks whether a stream stores a subject; true also when the server does not say. */
  constructor(clock: Clock, isStored: (subject: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#isStored = isStored;
  }

  /** Returns true if the last message of a subject was rejected because of the subject. */
  has(subject: string): boolean {
    return this.#faulty.has(subject);
  }

  recordAcknowledged(subject: string): void {
    if (this.#acknowledged.length < 2 && !this.#acknowledged.includes(subject)) this.#acknowledged.push(subject);
    this.#faulty.delete(subject);
    this.#waitingSinceMs.delete(subject);
  }

  /** Resolves to true if a failure concerns its subject alone. */
  async isOwn(subject: string, error: DeliveryError): Promise<boolean> {
    if (!(await this.#mayBeBlamed(subject, error))) return false;
    if (this.#faulty.size >= FAULTS_MAX) this.#faulty.clear();
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
    if (this.#waitingSinceMs.size >= FAULTS_MAX) this.#waitingSinceMs.clear();
    this.#waitingSinceMs.set(subject, sinceMs);
    return nowMs - sinceMs >= WAIT_MS_MAX;
  }
}

/** Returns true if the error concerns the subject, and is not temporary. */
function isOfSubject({ code, answer }: DeliveryError): boolean {
  return code === 'unauthorized' || answer === OTHER_STREAM;
}
