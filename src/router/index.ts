/**
 * router: the client of one router's REST interface.
 *
 * Owns: the connection, its trust and its bytes, the session (login, refresh, logout), the calls of the interface,
 * configuration envelopes, schemes and filters, and what every failure means.
 * Does not own: when a call is made, and what the body of a status resource means.
 * Start reading at: client.ts, then request-queue.ts and the diagrams in session.ts and connection-attempt.ts.
 */

export type { RouterCertificate } from './certificate.ts';
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
} from './configuration.ts';
export type { ConfigurationCalls, EntryChoice } from './configuration-calls.ts';
export type { ConnectionCounts, WireBytes } from './connector.ts';
export { type ErrorDetail, ROUTER_FAILURES, RouterError, type RouterFailure } from './errors.ts';
export { type Condition, contains, equals, type Filter } from './filter.ts';
export { type ApiDescription, type DescribedCall, parseApiDescription } from './openapi.ts';
export { MANUAL_ACTION_TYPES, type ManualAction, type ManualActionOptions } from './operations.ts';
export { RouterProbe, type RouterProbeOptions, type TlsFinding } from './probe.ts';
export type { RetryAfter } from './request-queue.ts';
export {
  checkValues,
  decodeScheme,
  type ParameterScheme,
  type ResourceScheme,
  SCHEME_TYPES,
  type SchemeFault,
} from './scheme.ts';
export type { AuthMode, SessionEvent } from './session.ts';
export { connectionShape, urlKey } from './settings.ts';
export type { ShownCertificate } from './shown-certificate.ts';
export type { DownloadFacts } from './transport.ts';
export type { RouterTls } from './trust.ts';
