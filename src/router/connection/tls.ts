import type { X509Certificate } from 'node:crypto';
import type { OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../../base/index.ts';
import { findOtherFingerprint, openSecureContext } from '../../net/index.ts';
import { RouterError } from '../errors.ts';
import type { RouterTls } from '../options.ts';

/** Checks the certificate of a full handshake beyond what the TLS library has checked; returns the error, if any. */
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

/** Facts of a router's certificate when it was last verified. Times are Unix milliseconds. */
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

/** Parses the time of a certificate as printed by OpenSSL, as Unix milliseconds; `undefined` for anything else. */
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

/** What arrives on all connections is read into this memory, and taken or copied before the next reading. */
const ARRIVED = Buffer.allocUnsafeSlow(64 * 1024);
/**
 * Longest piece that is handed to TLS. Node.js gives each connection a first buffer of 4,096 bytes, and further ones of 16 KiB
 * once that is full. Bytes.
 */
const PIECE_BYTES_MAX = 4095;

type Done = (error?: Error | null) => void;

/**
 * Carries the bytes of TLS between a socket and the TLS library. TLS that reads from the socket itself keeps a buffer of 64 KiB for
 * each connection as long as that is open, which for ten thousand routers is half of all memory.
 */
export class TlsCarrier extends Duplex {
  /** Option of the socket. */
  readonly onread: OnReadOpts = {
    buffer: ARRIVED,
    callback: (length) => {
      let isWanted = true;
      for (let begin = 0; begin < length; begin += PIECE_BYTES_MAX) {
        const end = Math.min(begin + PIECE_BYTES_MAX, length);
        const piece = ARRIVED.subarray(begin, end);
        // TLS, while it reads, copies a piece that nothing waits in front of before `push` returns.
        const isTakenNow = this.readableFlowing === true && this.readableLength === 0;
        isWanted = this.push(isTakenNow ? piece : Buffer.from(piece));
      }
      return isWanted;
    },
  };
  #socket: Socket | undefined;

  /** Begins to carry. `socket`: was created with {@link onread}, and is connected. */
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
