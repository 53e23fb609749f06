import type { X509Certificate } from 'node:crypto';
import type { OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../../base/index.ts';
import { findOtherFingerprint, openSecureContext } from '../../net/index.ts';
import { RouterError } from '../errors.ts';
import type { RouterTls } from '../settings.ts';

/** Checks the certificate of a full handshake beyond the checks of the TLS library; returns the error, if any. */
export function findTrustFault(tls: RouterTls, certificate: X509Certificate | undefined): RouterError | undefined {
  const found = findOtherFingerprint(tls, certificate);
  if (found === undefined) return undefined;
  return new RouterError('tls', `The router's certificate has another fingerprint: ${found}`, {
    disposition: 'operator',
    hint: 'If the certificate was renewed, put this fingerprint into tls.fingerprint_sha256 of this router',
    isUnsent: true,
  });
}

/** Returns the TLS context of a router's settings. Throws {@link RouterError} if its certificates cannot be used. */
export function openTrustedContext(tls: RouterTls, groups?: string): SecureContext {
  try {
    return openSecureContext(tls, groups);
  } catch (cause) {
    throw new RouterError('tls', 'The certificates that are configured for this router cannot be used', {
      disposition: 'operator',
      hint: 'Check tls.ca_file, tls.cert_file and tls.key_file of this router',
      cause,
      isUnsent: true,
    });
  }
}

/** A router's certificate at its last verification. Unix milliseconds. */
export interface RouterCertificate {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Hexadecimal with colons, one of the forms of `tls.fingerprint_sha256`. */
  readonly fingerprintSha256: string;
}

/** Decodes a certificate; `undefined` without one or if its times cannot be read. */
export function decodeCertificate(certificate: X509Certificate | undefined): RouterCertificate | undefined {
  if (!certificate) return undefined;
  const notBeforeMs = parseCertificateTime(certificate.validFrom);
  const notAfterMs = parseCertificateTime(certificate.validTo);
  if (notBeforeMs === undefined || notAfterMs === undefined) return undefined;
  return { notBeforeMs, notAfterMs, fingerprintSha256: certificate.fingerprint256 };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** `Dec 31 23:59:59 2049 GMT`; days below ten follow two spaces, seconds may have a fraction, the zone may be missing. */
const TIME =
  /^(?<month>[A-Z][a-z]{2}) {1,2}(?<day>\d{1,2}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(\.\d{1,9})? (?<year>\d{4})( GMT)?$/;

/** OpenSSL's format; Unix milliseconds. */
function parseCertificateTime(text: string): number | undefined {
  const groups = TIME.exec(text)?.groups;
  const month = MONTHS.indexOf(groups?.['month'] ?? '');
  if (!groups || month < 0) return undefined;
  const [day, hour, minute, second, year] = ['day', 'hour', 'minute', 'second', 'year'].map((name) =>
    Number(groups[name]),
  );
  const time = Date.UTC(year ?? Number.NaN, month, day, hour, minute, second);
  // Date.UTC() adds 1900 to years below 100.
  return Number.isNaN(time) || (year ?? 0) < 1000 ? undefined : time;
}

/** State that shortens a handshake. */
export interface HandshakeOffer {
  readonly session?: Buffer | undefined;
  /** Key exchanges, best first. Default: those of the first handshake. */
  readonly groups?: string | undefined;
}

/** A session consists of a ticket and the router's certificate. */
const SESSION_BYTES_MAX = 16 * 1024;
/** After this age, a full handshake verifies the certificate again. */
const SESSION_AGE_MS_MAX = 24 * 3600 * 1000;
/** After this many handshakes that failed with an offer and succeeded without one, nothing is offered any more. */
const REFUSALS_MAX = 3;

/**
 * Key exchanges to offer, by the name of the one that the router chose. The client sends the key of the first with its hello; a router
 * that wants another has to ask for it. The others stay on the list so that the router can choose again after an update.
 */
const GROUPS: Readonly<Record<string, string>> = {
  prime256v1: 'P-256:X25519:X448:P-384:P-521',
  secp384r1: 'P-384:P-256:X25519:X448:P-521',
};

/**
 * State of earlier connections to one router that saves bytes on the next one: the session, which avoids sending the certificate again,
 * and the router's preferred key exchange.
 *
 * Only connections with a trusted certificate are remembered. Resuming a session is as safe as verifying the certificate, because only
 * the two ends of that connection know its secret. A cache belongs to one set of trust settings.
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

  get certificate(): RouterCertificate | undefined {
    return this.#certificate;
  }

  /** Returns the state for the next handshake. */
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

  failed(): void {
    this.#session = undefined;
    this.#groups = undefined;
  }

  /** Records a successful handshake with an offer, whether the router used it or not. */
  accepted(): void {
    this.#refusals = 0;
  }

  /** Records a handshake that failed with an offer and then succeeded without one. */
  refused(): void {
    this.#refusals++;
  }

  /** TLS 1.2: the session is known after the handshake; 1.3: tickets follow it, the last is the newest. */
  #learnSession(socket: TLSSocket): void {
    if (socket.getProtocol() === 'TLSv1.3') socket.on('session', (session) => this.#keep(session));
    else this.#keep(socket.getSession());
  }

  #keep(session: Buffer | undefined): void {
    if (!session || session.length > SESSION_BYTES_MAX) return;
    // In memory of its own: in the pool of small buffers it would keep its neighbours allocated.
    this.#session = Buffer.from(new Uint8Array(session).buffer);
  }
}

function findGroups(socket: TLSSocket): string | undefined {
  const info = socket.getEphemeralKeyInfo();
  const name: unknown = info && Reflect.get(info, 'name');
  return typeof name === 'string' && Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
}

/** Shared by all connections: each read is consumed or copied before the next. */
const ARRIVED = Buffer.allocUnsafeSlow(64 * 1024);
/** Node.js gives each connection a first buffer of 4,096 bytes, and further ones of 16 KiB once that is full. Bytes. */
const PIECE_BYTES_MAX = 4095;

type Done = (error?: Error | null) => void;

/**
 * Carries the bytes of TLS between a socket and the TLS library. TLS that reads from the socket itself keeps a buffer of 64 KiB for each
 * open connection, which for ten thousand routers is half of all memory.
 */
export class TlsCarrier extends Duplex {
  /** Option for the creation of the socket. */
  readonly onread: OnReadOpts = {
    buffer: ARRIVED,
    callback: (length) => {
      let isWanted = true;
      for (let begin = 0; begin < length; begin += PIECE_BYTES_MAX) {
        const end = Math.min(begin + PIECE_BYTES_MAX, length);
        const piece = ARRIVED.subarray(begin, end);
        // If nothing is queued, TLS copies the piece before `push` returns.
        const isTakenNow = this.readableFlowing === true && this.readableLength === 0;
        isWanted = this.push(isTakenNow ? piece : Buffer.from(piece));
      }
      return isWanted;
    },
  };
  #socket: Socket | undefined;

  /** `socket`: connected, created with {@link onread}. */
  attach(socket: Socket): void {
    this.#socket = socket;
    socket.once('end', () => this.push(null));
    socket.once('error', (cause) => this.destroy(cause));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.#socket?.write(bytes, done);
  }

  override _final(done: Done): void {
    this.#socket?.end(() => done());
  }

  override _destroy(cause: Error | null, done: Done): void {
    this.#socket?.destroy();
    done(cause);
  }
}
