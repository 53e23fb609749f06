import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, openDeadline } from '../base/index.ts';
import { connectToNats, loadNatsLibrary, type NatsLibrary } from '../net/index.ts';
import { ATTEMPT_MS_MAX, Bucket, ClusterError, toNatsServers } from './bucket.ts';
import { Lease } from './lease.ts';
import type { ClusterSettings } from './settings.ts';
import {
  type BucketEntry,
  type Claim,
  type ClaimKind,
  ClusterView,
  digestNames,
  type Member,
  packNames,
  parseMember,
  renderClaim,
  renderMember,
  toListKey,
  toMemberKey,
  toOwnerKey,
} from './view.ts';

/** Events of this replica's membership. */
export type MembershipEvent =
  /** This replica has a lease. */
  | { readonly type: 'joined' }
  /** The bucket has another format, and is left unchanged. */
  | { readonly type: 'other-format'; readonly cause: unknown }
  /** The engine cannot be reached or used; reported again when the reason changes. */
  | { readonly type: 'engine-away'; readonly cause: unknown }
  /** The engine has ended the lease of this replica. */
  | { readonly type: 'lease-lost' }
  /** Another process holds the lease of this replica's name. */
  | { readonly type: 'name-taken'; readonly by: Member };

interface MembershipOptions {
  readonly settings: ClusterSettings;
  /** Identifies this run of the process. */
  readonly incarnation: string;
  readonly version: string;
  readonly startedMs: number;
  /** Monotonic for the lease, and for all waits. */
  readonly clock: Clock;
  readonly report: (event: MembershipEvent) => void;
}

/** Renewals in the duration of a lease. */
const RENEWALS = 3;
const RETRY_MS = 1000;
/** Wait before the next server is tried. Milliseconds. */
const NEXT_MS = 50;
/** A list of names ends this long after its replica, and is rewritten in time. Milliseconds. */
const LIST_TTL_MS = 24 * 3_600_000;
const LIST_AGAIN_MS = LIST_TTL_MS / 4;
/**
 * Lifetime of the marker of a released router or sink that no replica takes, because it is not configured any more.
 * Milliseconds.
 */
const RELEASED_TTL_MS = 24 * 3_600_000;

interface Session {
  readonly bucket: Bucket;
  readonly connection: NatsConnection;
  readonly view: ClusterView;
  /** Sequence of the last entry of the own lease that arrived. */
  seenSeq: number;
}

/** The lease of this replica, and its view of the cluster. Connects, renews and watches until closed. */
export class Membership {
  readonly self: Claim;
  readonly lease: Lease;
  readonly #options: MembershipOptions;
  readonly #memberKey: string;
  readonly #attemptMs: number;
  readonly #stop = new AbortController();
  #names: { readonly digest: string; readonly packed: Buffer } = { digest: digestNames([]), packed: packNames([]) };
  /** Digest of the names that the bucket has, and when they were written (monotonic milliseconds). */
  #written: { readonly digest: string; readonly atMs: number } | undefined;
  /** Sequence of the own lease; `undefined` without one. */
  #seq: number | undefined;
  #session: Session | undefined;
  #view = new ClusterView();
  #term = 0;
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #reported = '';
  #onChange = () => {};

  constructor(options: MembershipOptions) {
    const { settings, incarnation, clock } = options;
    const { replica, lease: leaseMs, status_grace: statusGraceMs } = settings;
    this.#options = options;
    this.self = { replica, incarnation };
    this.lease = new Lease({ leaseMs, statusGraceMs, clock });
    this.#memberKey = toMemberKey(replica);
    this.#attemptMs = Math.min(ATTEMPT_MS_MAX, leaseMs / RENEWALS);
  }

  get view(): ClusterView {
    return this.#view;
  }

  /**
   * Changes whenever others may have taken what this replica had claimed: when its lease begins, ends, or continues after it
   * had ended here, and with each connection. While it holds, others wait until a claim is released, or replace it.
   */
  get term(): number {
    return this.#term;
  }

  /** False once the engine is known to be away; the lease continues for a while. */
  get isEngineHere(): boolean {
    return this.#session !== undefined && !this.lease.isEngineAway;
  }

  setRouters(names: Iterable<string>): void {
    const all = [...names];
    const digest = digestNames(all);
    if (digest === this.#names.digest) return;
    this.#names = { digest, packed: packNames(all) };
    this.#wake?.();
  }

  /** Joins the cluster as soon as the engine allows it. `onChange` is called when members, owners or the lease have changed. */
  start(onChange: () => void): void {
    this.#onChange = onChange;
    this.#running ??= this.#run(this.#stop.signal);
  }

  /**
   * Claims a router or sink, unless its owner key has changed since it was read. Throws {@link ClusterError} `outdated` or
   * `away`, and `NatsError`.
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
      // The marker of an ended key expires without an entry, and its sequence would be expected for ever.
      if (!(await bucket.readLast(key))) view.forgetClaim(name, kind);
      throw cause;
    }
  }

  /** Releases a router or sink, so that its next owner starts. Does nothing if another replica owns it. */
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
      // On failure, the lease expires.
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
        // One server per attempt: an unresponsive one would take all the time of an attempt.
        await this.#openSession(servers.slice(attempt % servers.length).slice(0, 1), signal);
      } catch (cause) {
        if (signal.aborted) return;
        this.#onFailure(cause, beganMs);
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
      // The bucket may have been recreated, and the list in it may have ended while this machine slept.
      this.#written = undefined;
      await this.#keepLease(session, signal);
    } finally {
      ended.abort();
      // When stopping, `close` ends the lease first.
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
        this.#onFailure(cause, beganMs);
        throw cause;
      }
      const sentSeq = this.#seq;
      await this.#waitOrWake(waitMs, signal);
      if (sentSeq !== undefined && session.seenSeq < sentSeq && clock.monotonic() - beganMs >= everyMs) {
        throw new ClusterError('silent', 'Changes in the cluster do not arrive', { disposition: 'retry' });
      }
    }
  }

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
    // A renewal with an unknown result had arrived: the lease never ended.
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
    // A list is written before the lease that refers to it.
    const routers = await this.#writeNames(session);
    const sentMs = clock.monotonic();
    const member = renderMember({ ...this.self, address, startedMs, version, routers });
    return { seq: await session.bucket.put(this.#memberKey, member, { ttlMs: leaseMs, expected }), sentMs };
  }

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
    // The marker of the end of an earlier lease does not concern this one.
    if (entry.key === this.#memberKey && entry.value) {
      session.seenSeq = entry.seq;
      this.#complete();
    }
    if (this.#view !== session.view) return;
    if (changed) this.#onChange();
  }

  #beginTerm(): void {
    this.#term++;
    this.#onChange();
  }

  /**
   * Switches to the view of this session once the own lease has arrived: all earlier entries have, too. `wasHeld`: whether
   * the lease held before the current change.
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

  #onFailure(cause: unknown, beganMs: number): void {
    const wasAway = this.lease.isEngineAway;
    this.lease.recordFailure(beganMs, this.#attemptMs);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const type = cause instanceof ClusterError && cause.code === 'format' ? 'other-format' : 'engine-away';
    this.#reportOnce(`away ${reason}`, () => this.#options.report({ type, cause }));
    if (!wasAway) this.#onChange();
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
