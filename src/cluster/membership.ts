import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, openDeadline } from '../base/index.ts';
import { connectToNats, loadNatsLibrary, type NatsLibrary } from '../net/index.ts';
import { ATTEMPT_MS_MAX, Bucket, toNatsServers } from './bucket.ts';
import { ClusterError } from './errors.ts';
import { Lease } from './lease.ts';
import { type Claim, digestNames, type Member, packNames, parseMember, renderClaim, renderMember } from './members.ts';
import type { ClusterSettings } from './settings.ts';
import { type BucketEntry, type ClaimKind, ClusterView, toListKey, toMemberKey, toOwnerKey } from './view.ts';

/** Events of this replica's membership. */
export type MembershipEvent =
  /** It has a lease. */
  | { readonly type: 'joined' }
  /** The engine cannot be reached or used; reported again when the reason changes. */
  | { readonly type: 'engine-away'; readonly cause: unknown }
  /** The engine says that its lease has ended. */
  | { readonly type: 'lease-lost' }
  /** Another process holds the lease of its name. */
  | { readonly type: 'name-taken'; readonly by: Member };

/** This replica, and the engine. */
export interface MembershipOptions {
  /** The engine, and the name of this replica. */
  readonly settings: ClusterSettings;
  /** Names this run of the process; unique. */
  readonly incarnation: string;
  /** Version of the program. */
  readonly version: string;
  /** Start of the process. Milliseconds since the Unix epoch. */
  readonly startedMs: number;
  /** Monotonic for the lease, and for all waits. */
  readonly clock: Clock;
  /** Called for what an operator should know. */
  readonly report: (event: MembershipEvent) => void;
  /** Called when members, owners or the lease have changed. */
  readonly onChange: () => void;
}

/** A lease is renewed so many times before it would end. */
const RENEWALS = 3;
/** Wait before the next attempt. Milliseconds. */
const RETRY_MS = 1000;
/** Wait before the next server is tried. Milliseconds. */
const NEXT_MS = 50;
/** A list of names ends this long after its replica, and is written again in time. Milliseconds. */
const LIST_TTL_MS = 24 * 3_600_000;
const LIST_AGAIN_MS = LIST_TTL_MS / 4;
/** The note that a router or sink was released, if nobody takes it: it is not configured any more. Milliseconds. */
const RELEASED_TTL_MS = 24 * 3_600_000;

/** A connection to the engine, and what was seen over it. */
interface Session {
  readonly bucket: Bucket;
  readonly connection: NatsConnection;
  readonly view: ClusterView;
  /** Sequence of the last entry that was seen of the own lease. */
  seenSeq: number;
}

/** The lease of this replica, and its view of the cluster. Connects, renews and watches until it is closed. */
export class Membership {
  /** This replica as owner of routers. */
  readonly self: Claim;
  readonly lease: Lease;
  readonly #options: MembershipOptions;
  readonly #memberKey: string;
  readonly #attemptMs: number;
  readonly #stop = new AbortController();
  #names: { readonly digest: string; readonly packed: Buffer } = { digest: digestNames([]), packed: packNames([]) };
  /** Digest of the names that the bucket has, and when they were written. Monotonic. */
  #written: { readonly digest: string; readonly atMs: number } | undefined;
  /** Sequence of the own lease; `undefined` without one. */
  #seq: number | undefined;
  #session: Session | undefined;
  #view = new ClusterView();
  #term = 0;
  #running: Promise<void> | undefined;
  /** Wakes the loop, because there is something to write. */
  #wake: (() => void) | undefined;
  #reported = '';

  constructor(options: MembershipOptions) {
    const { settings, incarnation, clock } = options;
    const { replica, lease: leaseMs, status_grace: statusGraceMs } = settings;
    this.#options = options;
    this.self = { replica, incarnation };
    this.lease = new Lease({ leaseMs, statusGraceMs, clock });
    this.#memberKey = toMemberKey(replica);
    this.#attemptMs = Math.min(ATTEMPT_MS_MAX, leaseMs / RENEWALS);
  }

  /** The view of the cluster; while the engine is away, the last one. */
  get view(): ClusterView {
    return this.#view;
  }

  /**
   * Changes whenever others may have taken what this replica had claimed: when its lease begins, ends, or goes on after it had ended
   * here, and with each connection. While it holds, they wait until a claim is released, or replace it.
   */
  get term(): number {
    return this.#term;
  }

  /** False from the moment in which the engine was seen to be away; its lease goes on for a while. */
  get isEngineHere(): boolean {
    return this.#session !== undefined && !this.lease.isEngineAway;
  }

  /** Sets the names of the routers that this replica knows. */
  setRouters(names: Iterable<string>): void {
    const all = [...names];
    const digest = digestNames(all);
    if (digest === this.#names.digest) return;
    this.#names = { digest, packed: packNames(all) };
    this.#wake?.();
  }

  /** Begins to be a member, as soon as the engine lets it. */
  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /**
   * Takes a router or sink, unless its owner key has changed since it was seen. Throws {@link ClusterError} `outdated` or `away`, and
   * `NatsError`.
   */
  async claim(name: string, kind: ClaimKind = 'router'): Promise<void> {
    const { bucket, view } = this.#requireSession();
    const key = toOwnerKey(name, kind);
    const value = renderClaim(this.self);
    try {
      const seq = await bucket.put(key, value, { expected: view.findClaim(name, kind).seq });
      // The entry itself arrives later.
      const entry = { key, seq, value: Buffer.from(value), isExpired: false, storedMs: this.#options.clock.now() };
      if (view.findClaim(name, kind).seq < seq) view.apply(entry);
    } catch (cause) {
      if (!(cause instanceof ClusterError) || cause.code !== 'outdated') throw cause;
      // The note of a key that has ended goes without a word, and would be expected for ever.
      if (!(await bucket.readLast(key))) view.forgetClaim(name, kind);
      throw cause;
    }
  }

  /** Lets a router or sink go, so that its next owner begins. Does nothing if somebody else has it. */
  async release(name: string, kind: ClaimKind = 'router'): Promise<void> {
    const { bucket, view } = this.#requireSession();
    const { claim, seq } = view.findClaim(name, kind);
    if (claim?.incarnation !== this.self.incarnation) return;
    try {
      await bucket.remove(toOwnerKey(name, kind), { expected: seq, ttlMs: RELEASED_TTL_MS });
    } catch (cause) {
      if (!(cause instanceof ClusterError) || cause.code !== 'outdated') throw cause;
    }
  }

  /** Ends the lease, so that the others take over at once, and closes the connection. Never rejects. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#stop.abort();
    await this.#running;
    if (session && this.#seq !== undefined) {
      // Otherwise the lease ends by itself.
      await session.bucket.remove(this.#memberKey, { expected: this.#seq }).catch(() => {});
    }
    this.lease.lose();
    await session?.connection.close().catch(() => {});
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    const { servers } = settings;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const beganMs = clock.monotonic();
      try {
        // One server at a time: one that does not answer would take all the time of an attempt.
        await this.#openSession(servers.slice(attempt % servers.length).slice(0, 1), signal);
      } catch (cause) {
        if (signal.aborted) return;
        this.#noteFailure(cause, beganMs);
      }
      const isLast = (attempt + 1) % servers.length === 0;
      await clock.sleep(isLast ? RETRY_MS : NEXT_MS, signal).catch(() => {});
    }
  }

  /** Connects, and is a member until something fails. */
  async #openSession(servers: readonly string[], stopped: AbortSignal): Promise<void> {
    const { settings } = this.#options;
    const nats = await loadNatsLibrary();
    const connection = await this.#connect(nats, servers, stopped);
    const bucket = new Bucket({ nats, connection, cluster: settings.name, requestMsMax: this.#attemptMs });
    const session: Session = { bucket, connection, view: new ClusterView(), seenSeq: 0 };
    const ended = new AbortController();
    try {
      await bucket.check();
      const signal = AbortSignal.any([stopped, ended.signal]);
      const watching = bucket.watch((entry) => this.#onEntry(session, entry), signal);
      watching.then(
        () => ended.abort(new ClusterError('away', 'The connection to the engine has ended', { disposition: 'retry' })),
        (cause: unknown) => ended.abort(cause),
      );
      this.#session = session;
      // The bucket may have been made anew, and the list in it may have ended while this machine slept.
      this.#written = undefined;
      await this.#keepLease(session, signal);
    } finally {
      ended.abort();
      // While it is stopping, the lease has to be ended first.
      if (!stopped.aborted || this.#session !== session) {
        this.#session = undefined;
        connection.close().catch(() => {});
      }
    }
  }

  async #connect(nats: NatsLibrary, servers: readonly string[], stopped: AbortSignal): Promise<NatsConnection> {
    const { settings, clock } = this.#options;
    using deadline = openDeadline(clock, this.#attemptMs, stopped);
    return await connectToNats(nats, { ...toNatsServers(settings, clock), servers }, deadline.signal);
  }

  /** Renews the lease until something fails. */
  async #keepLease(session: Session, signal: AbortSignal): Promise<never> {
    const { settings, clock } = this.#options;
    const everyMs = settings.lease / RENEWALS;
    for (;;) {
      const beganMs = clock.monotonic();
      let waitMs = everyMs;
      try {
        if (!(await this.#renew(session))) waitMs = RETRY_MS;
      } catch (cause) {
        signal.throwIfAborted();
        this.#noteFailure(cause, beganMs);
        throw cause;
      }
      const sentSeq = this.#seq;
      await this.#waitOrWake(waitMs, signal);
      if (sentSeq !== undefined && session.seenSeq < sentSeq && clock.monotonic() - beganMs >= everyMs) {
        throw new ClusterError('silent', 'Changes in the cluster do not arrive', { disposition: 'retry' });
      }
    }
  }

  /** Writes what has changed, and renews or acquires the lease. Returns false if another process has it. */
  async #renew(session: Session): Promise<boolean> {
    const wasHeld = this.lease.isHeld;
    if (this.#seq !== undefined) {
      try {
        const { seq, sentMs } = await this.#writeLease(session, this.#seq);
        this.#seq = seq;
        this.lease.renew(sentMs);
        this.#complete(wasHeld);
        return true;
      } catch (cause) {
        if (!(cause instanceof ClusterError) || cause.code !== 'outdated') throw cause;
      }
    }
    const last = await session.bucket.readLast(this.#memberKey);
    const holder = last?.value && parseMember(Buffer.from(last.value).toString());
    const isOurs = holder?.incarnation === this.self.incarnation;
    if (!isOurs && this.#seq !== undefined) {
      this.#seq = undefined;
      this.#written = undefined;
      this.lease.lose();
      this.#reported = '';
      this.#options.report({ type: 'lease-lost' });
      this.#beginTerm();
    }
    if (holder && !isOurs) {
      this.#reportOnce(`taken ${holder.incarnation}`, () => this.#options.report({ type: 'name-taken', by: holder }));
      return false;
    }
    const { seq, sentMs } = await this.#writeLease(session, last?.seq ?? 0);
    // A renewal of unknown fate had arrived: the lease never ended.
    if (isOurs && this.#seq !== undefined) this.lease.renew(sentMs);
    else this.lease.acquire(sentMs);
    this.#seq = seq;
    // Its entry may have arrived before its acknowledgement.
    this.#complete(wasHeld);
    return true;
  }

  /** Writes the lease in place of the entry with the sequence `expected`. Resolves with its sequence, and when it was sent. */
  async #writeLease(session: Session, expected: number): Promise<{ readonly seq: number; readonly sentMs: number }> {
    const { clock, settings, startedMs, version } = this.#options;
    const { advertise: address, lease: leaseMs } = settings;
    // A list is written before the lease that names it.
    const routers = await this.#writeNames(session);
    const sentMs = clock.monotonic();
    const member = renderMember({ ...this.self, address, startedMs, version, routers });
    return { seq: await session.bucket.put(this.#memberKey, member, { ttlMs: leaseMs, expected }), sentMs };
  }

  /** Writes the names of the routers, if the bucket has others. Returns their digest. */
  async #writeNames({ bucket }: Session): Promise<string> {
    const { clock, settings } = this.#options;
    const { digest, packed } = this.#names;
    const atMs = clock.monotonic();
    if (this.#written?.digest === digest && atMs - this.#written.atMs < LIST_AGAIN_MS) return digest;
    await bucket.put(toListKey(settings.replica), packed, { ttlMs: LIST_TTL_MS });
    this.#written = { digest, atMs };
    return digest;
  }

  #onEntry(session: Session, entry: BucketEntry): void {
    const changed = session.view.apply(entry);
    // The note that an earlier lease has ended says nothing of this one.
    if (entry.key === this.#memberKey && entry.value) {
      session.seenSeq = entry.seq;
      this.#complete();
    }
    if (this.#view !== session.view) return;
    if (changed) this.#options.onChange();
  }

  #beginTerm(): void {
    this.#term++;
    this.#options.onChange();
  }

  /**
   * Uses the view of this session, once the own lease was seen: everything that was written before has arrived. `wasHeld`: whether the
   * lease held before what has just come.
   */
  #complete(wasHeld = this.lease.isHeld): void {
    const session = this.#session;
    if (!session || this.#seq === undefined || session.seenSeq < this.#seq) return;
    const isNew = this.#view !== session.view;
    if (isNew || !this.lease.isHeld) {
      this.#view = session.view;
      this.lease.see();
    }
    // An engine that shows the old lease and stores no new one is still away.
    const { isHeld, isEngineAway } = this.lease;
    if (isHeld && !isEngineAway) this.#reportOnce('joined', () => this.#options.report({ type: 'joined' }));
    if (isNew || isHeld !== wasHeld) this.#beginTerm();
  }

  #noteFailure(cause: unknown, beganMs: number): void {
    const wasAway = this.lease.isEngineAway;
    this.lease.noteFailure(beganMs, this.#attemptMs);
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.#reportOnce(`away ${reason}`, () => this.#options.report({ type: 'engine-away', cause }));
    if (!wasAway) this.#options.onChange();
  }

  #reportOnce(what: string, report: () => void): void {
    if (this.#reported === what) return;
    this.#reported = what;
    report();
  }

  #requireSession(): Session {
    const session = this.#session;
    if (!session || this.#view !== session.view) {
      throw new ClusterError('away', 'The engine of the cluster is away', { disposition: 'retry' });
    }
    return session;
  }

  async #waitOrWake(waitMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#options.clock.sleep(waitMs, AbortSignal.any([signal, woken.signal])).catch(() => {});
    this.#wake = undefined;
    signal.throwIfAborted();
  }
}
