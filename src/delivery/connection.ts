import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { type ConnectionPlan, explainTls, findOtherFingerprint, openConnection } from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';
import type { WatchedConnection } from './contracts.ts';
import { DeliveryError } from './errors.ts';

/** How the connections of a sink are opened, wherever they lead. */
export interface SinkConnection extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** TLS settings, for addresses with TLS. Default: the authorities of the system and of Node.js. */
  readonly tls?: ClientTls | undefined;
}

/**
 * Opens a connection, and closes it before anything is sent if the certificate is not the pinned one. What it throws is for
 * {@link toTlsError}.
 */
export async function openTrusted(plan: ConnectionPlan, signal: AbortSignal): Promise<Socket> {
  const socket = await openConnection(plan, signal);
  const isPinned = plan.tls && socket instanceof TLSSocket;
  const found = isPinned ? findOtherFingerprint(plan.tls, socket.getPeerX509Certificate()) : undefined;
  if (found === undefined) return socket;
  socket.destroy();
  throw new OtherCertificate(`it has a different fingerprint: ${found}`);
}

/** The certificate is not the pinned one. The message is a reason as in `explainTls`. */
class OtherCertificate extends Error {
  readonly subject = 'certificate';
  readonly reason = this.message;
  readonly hint = 'If the certificate was renewed, set tls.fingerprint_sha256 of this sink to this fingerprint';
}

/** Converts an error of the TLS library to one of the delivery; `undefined` for other errors. `place` is the address without secrets. */
export function toTlsError(cause: unknown, sink: string, place: string): DeliveryError | undefined {
  const failure = cause instanceof OtherCertificate ? cause : explainTls(cause, 'sink');
  if (!failure) return undefined;
  const { subject, reason, hint } = failure;
  const what =
    subject === 'certificate' ? `does not trust the certificate of ${place}` : `could not establish TLS with ${place}`;
  return new DeliveryError('misconfigured', `Sink ${sink} ${what}: ${reason}`, { disposition: 'operator', hint });
}

/** Remembers the end of a connection by the other side until it is queried. */
export class ConnectionEnd implements WatchedConnection {
  onEnd: (() => void) | undefined;
  #end: { readonly endedMs?: number | undefined } | undefined;

  /** `endedMs`: Unix time (ms) of an orderly end; absent = the connection broke at an unknown time. */
  record(endedMs?: number): void {
    if (endedMs === undefined || !this.#end) this.#end = { endedMs };
    this.onEnd?.();
  }

  async takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined> {
    // Process pending socket events before more is sent.
    await setImmediate();
    const end = this.#end;
    this.#end = undefined;
    return end;
  }
}
