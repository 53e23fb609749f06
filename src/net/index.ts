/**
 * net: tools of every network client, whatever the peer.
 *
 * Owns: error codes of failed connections, failures of TLS in words, requests and bodies read up to a bound, `Retry-After`, descriptors left for others, lookups of names,
 * trusted and pinned certificates, connections with and without TLS, kept ones, keys of accounts and TLS in settings, connections to NATS.
 * Does not own: the connections to routers, and what a failure means to its caller (router, delivery).
 * Start reading at: error-codes.ts.
 *
 *   keys/  keys of accounts, TLS and addresses, which the settings of several clients have
 *   nats/  keys, connection and errors of a client of NATS
 */
export { type ClientAuth, secretOf } from './client-auth.ts';
export { type ConnectionPlan, createConnector, openConnection, toConnector } from './connect.ts';
export { ContentCodingError, decodeContent, isCoded, renderHeader } from './content-coding.ts';
export { claimDescriptor, readDescriptorLimit } from './descriptors.ts';
export { classifyCode, type NetworkFault, readErrorCode, sanitizeErrorText } from './error-codes.ts';
export {
  type BoundedAnswer,
  createOneConnectionAgent,
  createOneConnectionClient,
  KEPT_SOCKET,
  parseHttpDate,
  parseRetryAfter,
  readBounded,
  requestBounded,
  toAddress,
  withCorrectedParser,
} from './http.ts';
export {
  accountShape,
  apiKeyShape,
  checkAccount,
  checkTls,
  listWays,
  tls,
  toClientAuth,
} from './keys/network-keys.ts';
export {
  baseUrl,
  type HostAndPort,
  hostAndPort,
} from './keys/network-values.ts';
export { NameLookup, type NameLookupOptions } from './name-lookup.ts';
export { connectToNats, type NatsServers } from './nats/connection.ts';
export { NatsError, type NatsErrorOptions, type NatsFailure, toNatsError } from './nats/errors.ts';
export {
  findFormatFault,
  type HeaderWords,
  measureHeaders,
  STREAM_METADATA,
  toMessageHeaders,
} from './nats/headers.ts';
export { checkNatsServers, natsServersShape, type SoundNatsServers } from './nats/keys.ts';
export { loadNatsLibrary, type NatsLibrary } from './nats/library.ts';
export { findOtherFingerprint, isAuthorityNeeded, openSecureContext, toNameOptions, toTlsOptions } from './tls.ts';
export { adviseUnreached, explainTls, type Peer, TLS_KINDS, type TlsFailure } from './tls-failure.ts';
export { createAgent, errors, request } from './undici.ts';
