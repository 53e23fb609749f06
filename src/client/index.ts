/**
 * client: the client of one router's REST interface.
 *
 * Owns: connections, TLS trust, counting of bytes, lanes (priority of requests, and which connection they use), the session (login,
 * refresh, logout), the calls of the interface, configuration envelopes, schemes and filters, and the classification of failures.
 * Does not own: when a call is made, and the content of status resources.
 * Start reading at: client.ts, then the diagrams in requests/lanes.ts, requests/session.ts and connection/connection-attempt.ts.
 *
 *   connection/  opening a connection: name, TCP, TLS, trust, and the bytes on the wire
 *   requests/    one call: lane, session, retries, body
 */

export {
  MANUAL_ACTION_OPTIONS,
  MANUAL_ACTION_TYPES,
  type ManualAction,
  type ManualActionOptions,
  parseApiDescription,
} from './api-description.ts';
export { type DatedAnswer, type RouterCalls, RouterClient } from './client.ts';
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
} from './configuration-calls.ts';
export { ConnectionLimit, type ConnectionLoad } from './connection/connection-limit.ts';
export type { ConnectionCounts, WireBytes } from './connection/connector.ts';
export type { RouterCertificate } from './connection/tls.ts';
export { ConnectionCheck, type ConnectionCheckOptions, type ShownCertificate } from './connection-check.ts';
export { adviseClosed, type ErrorDetail, RouterError } from './errors.ts';
export type { DownloadFacts } from './requests/download-body.ts';
export type { AnyCall } from './requests/messages.ts';
export type { RetryAfter } from './requests/requests.ts';
export { checkValues, decodeScheme, type ParameterScheme, type ResourceScheme, SCHEME_TYPES } from './scheme.ts';
export {
  type ConnectionSettings,
  connectionShape,
  connectionsSchema,
  findConnectionsMax,
  type RouterClientOptions,
  type RouterTls,
  routerAccountShape,
  routerTlsSchema,
  type SessionEvent,
  urlKey,
} from './settings.ts';
