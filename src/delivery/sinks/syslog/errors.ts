import { DeliveryError } from '../../errors.ts';
import { findTlsHint } from '../../tls.ts';

/** Host and port as they are written in messages. */
export function renderPlace(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Turns what a socket said into a {@link DeliveryError}; `what` says what was tried. */
export function toSocketError(what: string, cause: unknown): DeliveryError {
  if (cause instanceof DeliveryError) return cause;
  const hint = findTlsHint(cause);
  if (hint === undefined) return new DeliveryError('unreachable', what, { disposition: 'retry', cause });
  return new DeliveryError('misconfigured', what, { disposition: 'operator', hint, cause });
}
