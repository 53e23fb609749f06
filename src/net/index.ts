/**
 * net: what every client of a network needs, whoever is at the other end.
 *
 * Owns: what the codes of a failed connection mean, bodies read up to a bound, `Retry-After`,
 * which certificates are trusted and pinned, how a connection is kept.
 * Does not own: the opening of a connection, and what a failure means to a station (router, delivery).
 * Start reading at: error-codes.ts.
 */
export { classifyCode, type NetworkFault, readErrorCode } from './error-codes.ts';
export { createOneConnectionAgent, KEPT_SOCKET, parseRetryAfter, readBounded, toAddress } from './http.ts';
export { findOtherFingerprint, isAuthorityNeeded, openSecureContext, toNameOptions } from './tls.ts';
