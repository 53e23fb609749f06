import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/index.ts';
import { decodeCertificate, type RouterCertificate } from './trust.ts';

/** State that shortens a handshake. */
export interface HandshakeOffer {
  /** A session to resume. */
  readonly session?: Buffer | undefined;
  /** Key exchanges, best first; absent = those of the first handshake. */
  readonly groups?: string | undefined;
}

/** Maximum size of a kept session, which consists of a ticket and the router's certificate. */
const SESSION_BYTES_MAX = 16 * 1024;
/** Maximum age of a session: after that, a full handshake verifies the certificate again. */
const SESSION_AGE_MS_MAX = 24 * 3600 * 1000;
/** After this many handshakes that failed with an offer and succeeded without one, nothing is offered any more. */
const REFUSALS_MAX = 3;

/**
 * Key exchanges to offer to a router, by the name of the one that it chose. The key of the first is sent ahead, and a router that
 * wants another asks for it first; the others stay on the list, so that it can choose again after an update.
 */
const GROUPS: Readonly<Record<string, string>> = {
  prime256v1: 'P-256:X25519:X448:P-384:P-521',
  secp384r1: 'P-384:P-256:X25519:X448:P-521',
};

/**
 * State of earlier connections to one router, so that the next one costs fewer bytes: the session, which avoids sending the
 * certificate again, and the key exchange that the router prefers.
 *
 * Only connections with a trusted certificate are remembered. Resuming a session is as safe as verifying the certificate,
 * because only the two ends of that connection know the secret of the session. A cache belongs to one set of trust
 * settings.
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

  /** The certificate of the last full handshake. */
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

  /** Records a full handshake with a trusted certificate. */
  trusted(socket: TLSSocket, certificate: X509Certificate | undefined): void {
    this.#certificate = decodeCertificate(certificate);
    this.#session = undefined;
    this.#sessionEndMs = this.#clock.monotonic() + SESSION_AGE_MS_MAX;
    this.#groups = findGroups(socket);
    this.#learnSession(socket);
  }

  /** Records a successful handshake that resumed a session. */
  resumed(socket: TLSSocket): void {
    this.#learnSession(socket);
  }

  /** Records a failed handshake. */
  failed(): void {
    this.#session = undefined;
    this.#groups = undefined;
  }

  /** Records a successful handshake with an offer, whether the router used the offer or not. */
  accepted(): void {
    this.#refusals = 0;
  }

  /** Records a handshake that failed with an offer and succeeded immediately afterwards without one. */
  refused(): void {
    this.#refusals++;
  }

  /** Keeps the session: with TLS 1.2 after the handshake; with 1.3 from tickets that follow it, the last being the newest. */
  #learnSession(socket: TLSSocket): void {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', (session) => this.#keep(session));
    else this.#keep(socket.getSession());
  }

  #keep(session: Buffer | undefined): void {
    if (!session || session.length > SESSION_BYTES_MAX) return;
    // In memory of its own: in the pool of small buffers it would keep its neighbours, the tickets before it among them.
    this.#session = Buffer.from(new Uint8Array(session).buffer);
  }
}

function findGroups(socket: TLSSocket): string | undefined {
  const info = socket.getEphemeralKeyInfo();
  const name: unknown = info && Reflect.get(info, 'name');
  return typeof name === 'string' && Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
}
