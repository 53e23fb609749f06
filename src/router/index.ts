/**
 * router: the client of one router's REST interface.
 *
 * Owns: the connection, its trust and its bytes, the session (login, refresh, logout), the calls of the interface,
 * configuration envelopes, schemes and filters, and what every failure means.
 * Does not own: when a call is made, and what the body of a status resource means.
 * Start reading at: client.ts, then the diagrams in requests/session.ts and connection/connection-attempt.ts.
 *
 *   connection/     opening a connection: name, TCP, TLS, trust, and the bytes on the wire
 *   requests/       one request after another: order, session, transport, errors
 *   configuration/  configuration envelopes, schemes and filters
 */
export { type AnyAnswer, type AnyCall, type DatedAnswer, RouterClient, type RouterClientOptions } from './client.ts';
export type {
  ChangedEntry,
  ChangedSublistEntry,
  Configuration,
  ListEntry,
  NewEntry,
  NewSublistEntry,
  Parameters,
  ProfileChoice,
  ProfileState,
  SublistEntry,
} from './configuration/configuration.ts';
export { type Condition, contains, equals, type Filter } from './configuration/configuration.ts';
export type { ConfigurationCalls, EntryChoice } from './configuration/configuration-calls.ts';
export {
  checkValues,
  decodeScheme,
  type ParameterScheme,
  type ResourceScheme,
  SCHEME_TYPES,
  type SchemeFault,
} from './configuration/scheme.ts';
export { ConnectionLimit, type ConnectionLoad } from './connection/connection-limit.ts';
export type { ConnectionCounts, WireBytes } from './connection/connector.ts';
export type { RouterProxy } from './connection/proxy.ts';
export type { RouterCertificate, RouterTls, ShownCertificate } from './connection/trust.ts';
export { adviseClosed, type ErrorDetail, ROUTER_FAILURES, RouterError, type RouterFailure } from './errors.ts';
export { type ApiDescription, type DescribedCall, parseApiDescription } from './openapi.ts';
export {
  MANUAL_ACTION_OPTIONS,
  MANUAL_ACTION_TYPES,
  type ManualAction,
  type ManualActionOptions,
} from './operations.ts';
export { RouterProbe, type RouterProbeOptions, type TlsFinding } from './probe.ts';
export type { DownloadFacts } from './requests/download-body.ts';
export type { RetryAfter } from './requests/request-queue.ts';
export type { AuthMode, SessionEvent } from './requests/session.ts';
export {
  type ConnectionSettings,
  connectionShape,
  connectionsSchema,
  findConnectionsMax,
  routerAccountShape,
  routerTlsSchema,
  urlKey,
  type WrittenProxy,
} from './settings.ts';
