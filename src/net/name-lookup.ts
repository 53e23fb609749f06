import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Clock, Timer } from '../base/index.ts';
import { readErrorCode } from './error-codes.ts';

interface NameLookupOptions {
  readonly clock: Clock;
  /** Size of the process's thread pool; the system's lookups take at most half. Default: that of Node.js. */
  readonly threads?: number | undefined;
  /** Asks the system; has the signature of `dns.lookup`. */
  readonly ask?: ((name: string, options: LookupOptions & { readonly all: true }, answer: Answer) => void) | undefined;
}

/** With an error, Node.js passes no addresses, whatever its types say. */
type Answer = (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void;

/** Result of the last lookup of a name or, without addresses, in a domain. */
interface Known {
  /** True if there was no answer within {@link HANGING_MS}, or none at all. */
  readonly isHanging: boolean;
  readonly addresses?: LookupAddress[] | undefined;
  /** When the addresses arrived. Monotonic milliseconds. */
  readonly atMs: number;
}

interface Lookup {
  readonly key: string;
  readonly name: string;
  /** The name after its first dot, with the dot; the name itself if it has no dot. */
  readonly domain: string;
  readonly options: LookupOptions & { readonly all: true };
  readonly askers: Set<Answer>;
  isSuspect: boolean;
}

const POOL_THREADS = 4;
/** Share, of half of the threads, that router lookups may use; sinks and router sources need lookups, too. */
const ROUTERS_SHARE = 3 / 4;
/** A lookup that takes longer counts as hanging, and earlier addresses are used. Satellite links need one second. Milliseconds. */
const HANGING_MS = 2000;
/** A caller without an answer by then gets an error. Requests have shorter limits. Milliseconds. */
const ANSWER_MS_MAX = 60_000;
/** Maximum age of addresses used in place of an answer: later, another host may have the address. Milliseconds. */
const ADDRESS_AGE_MS_MAX = 60 * 60_000;
const KNOWN_MAX = 50_000;

/**
 * Resolves router names with the system's own lookup, so that /etc/hosts and search domains apply. Such a lookup holds a
 * thread until it ends and cannot be cancelled; an unresponsive name server takes ten seconds and more. So each name has one
 * lookup at a time, all together have few, and fewer are suspect: names whose last lookup hung and unknown names of a domain
 * whose last lookup hung. An unknown domain is tried with one name first. A name that was resolved before keeps its addresses
 * meanwhile. See decision 0020.
 */
export class NameLookup {
  readonly #clock: Clock;
  readonly #ask: NonNullable<NameLookupOptions['ask']>;
  readonly #runningMax: number;
  readonly #suspectMax: number;
  /** By key and by domain, the latest result last. */
  readonly #known = new Map<string, Known>();
  readonly #lookups = new Map<string, Lookup>();
  readonly #waiting = new Set<Lookup>();
  readonly #running = new Set<Lookup>();

  constructor({ clock, threads = POOL_THREADS, ask = dns.lookup }: NameLookupOptions) {
    this.#clock = clock;
    this.#ask = ask;
    this.#runningMax = Math.max(2, Math.floor((threads / 2) * ROUTERS_SHARE));
    this.#suspectMax = Math.floor(this.#runningMax / 2);
  }

  /** Number of lookups that wait for a thread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves a name; has the signature of the socket option `lookup`. */
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
      else timer = this.#clock.setTimer(ANSWER_MS_MAX - HANGING_MS, () => answer(toNoAnswer(name)), false);
    };
    timer = this.#clock.setTimer(HANGING_MS, onLate, false);
    lookup.askers.add(answer);
  };

  #find(name: string, options: Lookup['options']): Lookup {
    const key = `${name} ${options.family} ${options.hints}`;
    const underWay = this.#lookups.get(key);
    if (underWay) return underWay;
    const domain = name.slice(Math.max(0, name.indexOf('.')));
    const lookup: Lookup = { key, name, domain, options, askers: new Set(), isSuspect: false };
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
    lookup.isSuspect = known.isHanging;
    return !known.isHanging || running.filter((one) => one.isSuspect).length < this.#suspectMax;
  }

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
      lookup.isSuspect = true;
      this.#remember(lookup, isHanging, this.#known.get(lookup.key)?.addresses);
      this.#proceed();
    };
    const timer = this.#clock.setTimer(HANGING_MS, onHanging, false);
    this.#ask(lookup.name, lookup.options, (error, addresses) => {
      timer.cancel();
      this.#running.delete(lookup);
      this.#lookups.delete(lookup.key);
      this.#end(lookup, isHanging, error, addresses);
      this.#proceed();
    });
  }

  #end(lookup: Lookup, isHanging: boolean, ...[error, addresses]: Parameters<Answer>): void {
    // The name server did not answer, which says nothing about the name.
    const isUnanswered = readErrorCode(error) === 'EAI_AGAIN';
    const instead = isUnanswered ? this.#recall(lookup.key) : undefined;
    this.#remember(lookup, isHanging || isUnanswered, error ? instead : addresses);
    for (const answer of [...lookup.askers]) answer(instead ? null : error, instead ?? addresses);
  }

  #remember({ key, domain }: Lookup, isHanging: boolean, addresses: LookupAddress[] | undefined): void {
    const before = this.#known.get(key);
    // Reused addresses keep their age.
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

  #recall(key: string): LookupAddress[] | undefined {
    const known = this.#known.get(key);
    return known && this.#clock.monotonic() - known.atMs <= ADDRESS_AGE_MS_MAX ? known.addresses : undefined;
  }
}

function toNoAnswer(name: string): NodeJS.ErrnoException {
  const message = `getaddrinfo EAI_AGAIN ${name}`;
  return Object.assign(new Error(message), { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: name });
}
