/**
 * router: the client of one router's REST interface.
 *
 * Owns: the connections, their trust and their bytes, the lanes (what goes first, and over which connection), the session
 * (login, refresh, logout), the calls of the interface, configuration envelopes, schemes and filters, and what every failure means.
 * Does not own: when a call is made, and what the body of a status resource means.
 * Start reading at: client.ts, then the diagrams in requests/lanes.ts, requests/session.ts and connection/connection-attempt.ts.
 *
 *   connection/  opening a connection: name, TCP, TLS, trust, and the bytes on the wire
 *   requests/    one call: its lane, its session, its repetition, its bytes
 */

export {
  MANUAL_ACTION_OPTIONS,
  MANUAL_ACTION_TYPES,
  type ManualAction,
  type ManualActionOptions,
  parseApiDescription,
} from './api-description.ts';
export {
  type AnyCall,
  type DatedAnswer,
  type RouterCalls,
  RouterClient,
} from './client.ts';
export {
  type ChangedEntry,
  type Condition,
  type Configuration,
  type ConfigurationCalls,
  contains,
  equals,
  type Filter,
  type ListEntry,
  type NewEntry,
  type Parameters,
  type ProfileChoice,
  type ProfileState,
} from './configuration.ts';
export { ConnectionLimit, type ConnectionLoad } from './connection/connection-limit.ts';
export type { ConnectionCounts, WireBytes } from './connection/connector.ts';
export type { RouterProxy } from './connection/proxy.ts';
export type { RouterCertificate } from './connection/tls.ts';
export { adviseClosed, type ErrorDetail, ROUTER_FAILURES, RouterError, type RouterFailure } from './errors.ts';
export type { RouterClientOptions, RouterTls, SessionEvent } from './options.ts';
export { RouterProbe, type RouterProbeOptions, type ShownCertificate } from './probe.ts';
export type { DownloadFacts } from './requests/download-body.ts';
export type { RetryAfter } from './requests/requests.ts';
export {
  checkValues,
  decodeScheme,
  type ParameterScheme,
  type ResourceScheme,
  SCHEME_TYPES,
} from './scheme.ts';
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
