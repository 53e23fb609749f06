import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Clock, Timer } from '../base/index.ts';
import { readErrorCode } from './error-codes.ts';

/** Clock and threads of the lookups. */
export interface NameLookupOptions {
  /** Clock for waits and the age of addresses. */
  readonly clock: Clock;
  /** Threads of the process's pool, of which the system's lookups take at most half. Default: those of Node.js. */
  readonly threads?: number | undefined;
  /** Asks the system, as `dns.lookup` does. */
  readonly ask?: ((name: string, options: LookupOptions & { readonly all: true }, answer: Answer) => void) | undefined;
}

/** With an error there are no addresses, whatever the types of Node.js say. */
type Answer = (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void;

/** What the last lookup of a name has shown or, without addresses, the last one in a domain. */
interface Known {
  /** True if there was no answer in {@link PATIENCE_MS}, or none at all. */
  readonly isHanging: boolean;
  readonly addresses?: LookupAddress[] | undefined;
  /** Time of the addresses. Monotonic milliseconds. */
  readonly atMs: number;
}

/** One question to the system, for all who ask it. */
interface Lookup {
  readonly key: string;
  readonly name: string;
  /** What is after the first part of the name, with the dot; the name itself if it has one part. */
  readonly domain: string;
  readonly options: LookupOptions & { readonly all: true };
  readonly askers: Set<Answer>;
  /** True if it was begun as one that may hang, or hangs. */
  isDoubtful: boolean;
}

/** Threads of the pool of Node.js. */
const POOL_THREADS = 4;
/** Share of the threads for lookups that routers may use; sinks and sources of routers have names, too. */
const ROUTERS_SHARE = 3 / 4;
/** A lookup that takes longer hangs, and who knows an earlier address goes on with it. Satellite links need one second. Milliseconds. */
const PATIENCE_MS = 2000;
/** Who has no answer by then gets an error; requests wait less long. Milliseconds. */
const ANSWER_MS_MAX = 60_000;
/** Age of addresses that are used instead of an answer: the next one may belong to somebody else. Milliseconds. */
const ADDRESS_AGE_MS_MAX = 60 * 60_000;
/** Names that are remembered, with their domains. */
const KNOWN_MAX = 50_000;

/**
 * Resolves the names of routers with the system's own lookup, so that /etc/hosts and search domains apply. Such a lookup holds a
 * thread until it ends, and cannot be cancelled; without an answer of the name server, that takes ten seconds and more. So there
 * is one lookup of a name at a time, few at a time altogether, and fewer of the doubtful ones: names whose last lookup hung and,
 * of unknown names, those in a domain where the last one hung. An unknown domain is tried with one name first. A name that was
 * resolved before goes on with those addresses meanwhile. See decision 0020.
 */
export class NameLookup {
  readonly #clock: Clock;
  readonly #ask: NonNullable<NameLookupOptions['ask']>;
  readonly #runningMax: number;
  readonly #doubtfulMax: number;
  /** By key and by domain. What was noted last is last. */
  readonly #known = new Map<string, Known>();
  /** All that are running or waiting. */
  readonly #lookups = new Map<string, Lookup>();
  readonly #waiting = new Set<Lookup>();
  readonly #running = new Set<Lookup>();

  constructor({ clock, threads = POOL_THREADS, ask = dns.lookup }: NameLookupOptions) {
    this.#clock = clock;
    this.#ask = ask;
    this.#runningMax = Math.max(2, Math.floor((threads / 2) * ROUTERS_SHARE));
    this.#doubtfulMax = Math.floor(this.#runningMax / 2);
  }

  /** Lookups that wait for a thread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves a name. To be given to a socket. */
  readonly lookup: LookupFunction = (name, { all, family = 0, hints = 0 }, callback) => {
    const lookup = this.#find(name, { family, hints, all: true });
    let timer: Timer;
    const answer: Answer = (error, addresses = []) => {
      timer.cancel();
      lookup.askers.delete(answer);
      const [first] = addresses;
      if (error || !first) callback(error ?? toNoAnswer(name), []);
      else if (all) callback(null, addresses);
      else callback(null, first.address, first.family);
    };
    const onLate = () => {
      const addresses = this.#recall(lookup.key);
      if (addresses) answer(null, addresses);
      else timer = this.#clock.setTimer(ANSWER_MS_MAX - PATIENCE_MS, () => answer(toNoAnswer(name)), false);
    };
    timer = this.#clock.setTimer(PATIENCE_MS, onLate, false);
    lookup.askers.add(answer);
  };

  #find(name: string, options: Lookup['options']): Lookup {
    const key = `${name} ${options.family} ${options.hints}`;
    const underWay = this.#lookups.get(key);
    if (underWay) return underWay;
    const domain = name.slice(Math.max(0, name.indexOf('.')));
    const lookup: Lookup = { key, name, domain, options, askers: new Set(), isDoubtful: false };
    this.#lookups.set(key, lookup);
    this.#waiting.add(lookup);
    if (this.#mayStart(lookup)) this.#start(lookup);
    return lookup;
  }

  #mayStart(lookup: Lookup): boolean {
    if (this.#running.size >= this.#runningMax) return false;
    const known = this.#known.get(lookup.key) ?? this.#known.get(lookup.domain);
    const running = [...this.#running];
    if (!known) return running.every(({ domain }) => domain !== lookup.domain);
    lookup.isDoubtful = known.isHanging;
    return !known.isHanging || running.filter((one) => one.isDoubtful).length < this.#doubtfulMax;
  }

  /** Begins those that may, in the order of asking. */
  #proceed(): void {
    for (const lookup of this.#waiting) {
      if (this.#running.size >= this.#runningMax) return;
      if (this.#mayStart(lookup)) this.#start(lookup);
    }
  }

  #start(lookup: Lookup): void {
    this.#waiting.delete(lookup);
    this.#running.add(lookup);
    let isHanging = false;
    const onHanging = () => {
      isHanging = true;
      lookup.isDoubtful = true;
      this.#note(lookup, isHanging, this.#known.get(lookup.key)?.addresses);
      this.#proceed();
    };
    const timer = this.#clock.setTimer(PATIENCE_MS, onHanging, false);
    this.#ask(lookup.name, lookup.options, (error, addresses) => {
      timer.cancel();
      this.#running.delete(lookup);
      this.#lookups.delete(lookup.key);
      this.#end(lookup, isHanging, error, addresses);
      this.#proceed();
    });
  }

  #end(lookup: Lookup, isHanging: boolean, ...[error, addresses]: Parameters<Answer>): void {
    // The name server has no answer, which says nothing about the name.
    const isUnanswered = readErrorCode(error) === 'EAI_AGAIN';
    const instead = isUnanswered ? this.#recall(lookup.key) : undefined;
    this.#note(lookup, isHanging || isUnanswered, error ? instead : addresses);
    for (const answer of [...lookup.askers]) answer(instead ? null : error, instead ?? addresses);
  }

  #note({ key, domain }: Lookup, isHanging: boolean, addresses: LookupAddress[] | undefined): void {
    const before = this.#known.get(key);
    // Addresses that are used again are as old as they were.
    const atMs = before && before.addresses === addresses ? before.atMs : this.#clock.monotonic();
    this.#known.delete(key);
    this.#known.delete(domain);
    this.#known.set(key, { isHanging, addresses, atMs });
    this.#known.set(domain, { isHanging, atMs });
    for (const one of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(one);
    }
  }

  /** Returns the last addresses of a name, if they are young enough. */
  #recall(key: string): LookupAddress[] | undefined {
    const known = this.#known.get(key);
    return known && this.#clock.monotonic() - known.atMs <= ADDRESS_AGE_MS_MAX ? known.addresses : undefined;
  }
}

function toNoAnswer(name: string): NodeJS.ErrnoException {
  const message = `getaddrinfo EAI_AGAIN ${name}`;
  return Object.assign(new Error(message), { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: name });
}
