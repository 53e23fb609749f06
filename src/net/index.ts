/**
 * net: tools of every network client, whatever the peer.
 *
 * Owns: error codes of failed connections, failures of TLS in words, requests and bodies read up to a bound, fields of JSON bodies, `Retry-After`, descriptors left for others,
 * trusted and pinned certificates, kept connections.
 * Does not own: the opening of a connection, and what a failure means to its caller (router, delivery).
 * Start reading at: error-codes.ts.
 */
export { claimDescriptor, readDescriptorLimit } from './descriptors.ts';
export { classifyCode, type NetworkFault, readErrorCode } from './error-codes.ts';
export {
  type BoundedAnswer,
  createOneConnectionAgent,
  isPlainObject,
  KEPT_SOCKET,
  parseRetryAfter,
  readBounded,
  readInteger,
  readString,
  requestBounded,
  toAddress,
} from './http.ts';
export { findOtherFingerprint, isAuthorityNeeded, openSecureContext, toNameOptions } from './tls.ts';
export { adviseUnreached, explainTls, type Peer, TLS_KINDS, type TlsFailure } from './tls-failure.ts';
