import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { explainTls, findOtherFingerprint, isAuthorityNeeded, toNameOptions } from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { DeliveryError } from './errors.ts';

/**
 * Converts settings to the options of the TLS library. With `host`, the host of the sink's address, they include the name
 * for SNI and verification. The caller must check {@link findTlsFault} before it sends anything.
 */
export function toTlsOptions(tls: ClientTls, host?: string): ConnectionOptions {
  const { caPem, certPem, keyPem } = tls;
  const name = tls.serverName ?? host;
  return {
    // An IP address may be in a certificate, but never in SNI.
    ...(name !== undefined && toNameOptions(name)),
    ...(caPem !== undefined && { ca: caPem }),
    ...(certPem !== undefined && { cert: certPem }),
    ...(keyPem !== undefined && { key: keyPem }),
    rejectUnauthorized: isAuthorityNeeded(tls),
  };
}

/** Returns what is wrong with the certificate of a full handshake beyond the checks of the TLS library; `undefined` if nothing. */
export function findTlsFault(tls: ClientTls, socket: TLSSocket): string | undefined {
  const found = findOtherFingerprint(tls, socket.getPeerX509Certificate());
  return found === undefined ? undefined : `Its certificate has a different fingerprint: ${found}`;
}

/** Hint for a fault found by {@link findTlsFault}. */
export const FINGERPRINT_HINT =
  'If the certificate was renewed, set tls.fingerprint_sha256 of this sink to this fingerprint';

/** Converts an error of the TLS library to one of the delivery; `undefined` for other errors. `place` is the address without secrets. */
export function toTlsError(cause: unknown, sink: string, place: string): DeliveryError | undefined {
  const failure = explainTls(cause, 'sink');
  if (!failure) return undefined;
  const { subject, reason, hint } = failure;
  const what =
    subject === 'certificate' ? `does not trust the certificate of ${place}` : `could not establish TLS with ${place}`;
  return new DeliveryError('misconfigured', `Sink ${sink} ${what}: ${reason}`, { disposition: 'operator', hint });
}
