/**
 * net: tools of every network client, whatever the peer.
 *
 * Owns: opening connections with and without TLS and proxies, trusted and pinned certificates, error codes and TLS failures in words,
 * bounded requests and bodies, `Retry-After`, the descriptor reserve, name lookup, setting keys for accounts and TLS,
 * connections to NATS.
 * Does not own: the connections to routers (client), and what a failure means to the caller.
 * Start reading at: connect.ts.
 *
 *   connect.ts         opens a TCP or TLS connection, with a fallback for peers that refuse post-quantum keys
 *   tls.ts             settings to TLS options, shared contexts, fingerprints
 *   proxy.ts           has a proxy (CONNECT, SOCKS 5) open a connection
 *   error-codes.ts     classifies and explains connection failures
 *   http.ts            HTTP clients with one kept connection, bounded bodies, dates
 *   undici.ts          the parts of undici in use, and corrections of its parser
 *   content-coding.ts  gzip, deflate, br and zstd bodies
 *   name-lookup.ts     lookups of names by the system's resolver, /etc/hosts included, bounded in threads
 *   descriptors.ts     reserve of file descriptors
 *   keys.ts            setting keys shared by network clients
 *   nats/              keys, connection, headers and errors of a NATS client
 */
export { type ConnectionPlan, createConnector, openConnection, toConnector } from './connect.ts';
export { ContentCodingError, decodeContent, isCoded, renderHeader } from './content-coding.ts';
export { claimDescriptor, readDescriptorLimit } from './descriptors.ts';
export {
  adviseUnreached,
  classifyCode,
  explainTls,
  type Peer,
  readErrorCode,
  sanitizeErrorText,
  TLS_KINDS,
  type TlsFailure,
} from './error-codes.ts';
export {
  createOneConnectionAgent,
  createOneConnectionClient,
  KEPT_SOCKET,
  parseHttpDate,
  parseRetryAfter,
  readBounded,
  requestBounded,
  toAddress,
} from './http.ts';
export {
  accountShape,
  apiKeyShape,
  baseUrl,
  type ClientAuth,
  checkAccount,
  checkProxy,
  checkTls,
  hostAndPort,
  listAuthMethods,
  proxyKey,
  secretOf,
  tls,
  toClientAuth,
  toProxy,
} from './keys.ts';
export { NameLookup } from './name-lookup.ts';
export { connectToNats, type NatsServers } from './nats/connection.ts';
export {
  findFormatFault,
  type HeaderWords,
  measureHeaders,
  STREAM_METADATA,
  toMessageHeaders,
} from './nats/headers.ts';
export { checkNatsServers, natsServersShape } from './nats/keys.ts';
export {
  loadNatsLibrary,
  NatsError,
  type NatsLibrary,
  toNatsError,
} from './nats/library.ts';
export {
  connectThroughProxy,
  type ForwardProxy,
  type HostAddress,
  ProxyError,
  parseProxyUrl,
  renderWay,
  toProxyAddress,
  toProxyError,
} from './proxy.ts';
export { findOtherFingerprint, isAuthorityNeeded, openSecureContext, toNameOptions, toTlsOptions } from './tls.ts';
export { createAgent, errors, request } from './undici.ts';
