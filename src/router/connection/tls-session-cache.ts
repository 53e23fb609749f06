import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/index.ts';
import { decodeCertificate, type RouterCertificate } from './trust.ts';

/** State that shortens a handshake. */
export interface HandshakeOffer {
  /** A session to resume. */
  readonly session?: Buffer | undefined;
  /** Key exchanges, best first. */
  readonly groups?: string | undefined;
}

/** A session is a ticket and the router's certificate; a larger one than this is not worth keeping. */
const SESSION_BYTES_MAX = 16 * 1024;
/** The router's certificate is looked at again after this time at the latest, however often a session was resumed. */
const SESSION_AGE_MS_MAX = 24 * 3600 * 1000;
/** A router that has failed this often on what was offered to it, and not without, is offered nothing any more. */
const REFUSALS_MAX = 3;

/**
 * Key exchanges by the name that the TLS library reports. OpenSSL guesses two that a router might choose and sends the
 * keys of both ahead; the post-quantum one takes 1,200 bytes, and routers know nothing of it. Once a router has chosen,
 * its choice goes first and alone, and the others stay on the list, so that after an update it can still ask for better.
 */
const GROUPS: Readonly<Record<string, string>> = {
  X25519: 'X25519:P-256:P-384:P-521:X25519MLKEM768',
  prime256v1: 'P-256:X25519:P-384:P-521:X25519MLKEM768',
  secp384r1: 'P-384:P-256:X25519:P-521:X25519MLKEM768',
};

/**
 * State of earlier connections to one router, so that the next one costs fewer bytes: the session, with which the router need
 * not show its certificate again, and the key exchange that it prefers.
 *
 * Only connections whose certificate was trusted are remembered, by fingerprint or by authority. Resuming is then as
 * good as looking at the certificate: nobody but the two ends of that connection knows the secret of its session. A
 * memory belongs to one set of trust settings.
 */
export class TlsSessionCache {
  readonly #clock: Clock;
  #session: Buffer | undefined;
  #sessionEndMs = 0;
  #groups: string | undefined;
  #refusals = 0;
  #certificate: RouterCertificate | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From the last full handshake. */
  get certificate(): RouterCertificate | undefined {
    return this.#certificate;
  }

  /** Returns the state for the next handshake; empty if there is none. */
  offer(): HandshakeOffer {
    if (this.#refusals >= REFUSALS_MAX) return {};
    const notAfterMs = this.#certificate?.notAfterMs ?? Number.POSITIVE_INFINITY;
    const isOld = this.#clock.monotonic() >= this.#sessionEndMs || this.#clock.now() >= notAfterMs;
    return { ...(!isOld && { session: this.#session }), groups: this.#groups };
  }

  /** A full handshake has succeeded and its certificate is trusted. */
  trusted(socket: TLSSocket, certificate: X509Certificate | undefined): void {
    this.#certificate = decodeCertificate(certificate);
    this.#session = undefined;
    this.#sessionEndMs = this.#clock.monotonic() + SESSION_AGE_MS_MAX;
    this.#groups = findGroups(socket);
    this.#learnSession(socket);
  }

  /** A handshake that began with a session of this memory has succeeded. */
  resumed(socket: TLSSocket): void {
    this.#learnSession(socket);
  }

  /** A handshake has failed. */
  failed(): void {
    this.#session = undefined;
    this.#groups = undefined;
  }

  /** A handshake that began with an offer has succeeded, whatever the router made of the offer. */
  accepted(): void {
    this.#refusals = 0;
  }

  /** A handshake that began with an offer has failed, and at once after it one without has succeeded. */
  refused(): void {
    this.#refusals++;
  }

  /** With TLS 1.2 a session is complete with the handshake; with 1.3 tickets come afterwards, the last is the newest. */
  #learnSession(socket: TLSSocket): void {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', (session) => this.#keep(session));
    else this.#keep(socket.getSession());
  }

  #keep(session: Buffer | undefined): void {
    if (session && session.length <= SESSION_BYTES_MAX) this.#session = session;
  }
}

/** Before OpenSSL 3.5 there is no post-quantum key exchange, so nothing is sent in vain. */
const [OPENSSL_MAJOR = 0, OPENSSL_MINOR = 0] = process.versions.openssl.split('.').map(Number);
const IS_POST_QUANTUM = OPENSSL_MAJOR > 3 || (OPENSSL_MAJOR === 3 && OPENSSL_MINOR >= 5);

function findGroups(socket: TLSSocket): string | undefined {
  if (!IS_POST_QUANTUM) return undefined;
  const info = socket.getEphemeralKeyInfo();
  const name: unknown = info && Reflect.get(info, 'name');
  return typeof name === 'string' && Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
}
