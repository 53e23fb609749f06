import type { TLSSocket } from 'node:tls';
import { explainTls, findOtherFingerprint } from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { DeliveryError } from './errors.ts';

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
