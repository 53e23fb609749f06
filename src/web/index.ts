/**
 * web: the agent's HTTP server.
 *
 * Owns: the listening sockets with their TLS and bounds, authentication and roles, the routes, formats and encodings of responses, the status
 * pages, and the JSON behind them.
 * Does not own: the content; the agent supplies it.
 * Start reading at: server.ts and app.ts, then scrape.ts; pages/page-routes.ts for the pages. api-types.ts is the contract
 * of `/api/v1/`.
 */

export type {
  ConfigurationSummary,
  DeviceSummary,
  FamilyValues,
  FleetMinute,
  HistoryPoint,
  InterfaceRate,
  LetterDetail,
  LetterPage,
  LetterSummary,
  LifecycleSummary,
  LogGapSummary,
  LogLine,
  LogLineGap,
  LogRotationSummary,
  ModuleValues,
  PaceSummary,
  PlanSummary,
  PollFault,
  PollPoint,
  PollStep,
  PollSummary,
  RecordPage,
  RecordSummary,
  ResourceSummary,
  RouterAnswer,
  RouterBytes,
  RouterDetail,
  RouterFailureSummary,
  RouterLogSummary,
  RouterState,
  RouterSummary,
  RunSummary,
  SessionSummary,
  SignalSummary,
  SinkSummary,
  SourceSummary,
  SpoolSummary,
  TrialResult,
} from './api-types.ts';
export { NO_DEVICE } from './api-types.ts';
export type {
  ClusterSummary,
  FleetShards,
  ForeignRouter,
  LogRow,
  MetricsFormat,
  MetricsScope,
  RecordQuery,
  ReloadResult,
  StateResult,
  WebContent,
} from './content.ts';
export { WebError, type WebFailure } from './errors.ts';
export type { WebAddress } from './listener.ts';
export { type LoadedWebConfig, loadWebConfig } from './load-web-config.ts';
export { createMatcher } from './pages/table-query.ts';
export type { WebClientAuth, WebSecurity, WebTls, WebTlsVersion } from './security.ts';
export { BCRYPT_COST_MAX } from './security.ts';
export { openWebServer, type WebPolicy, type WebServer, type WebServerOptions } from './server.ts';
export { webSchema } from './web-file-schema.ts';
export {
  FRESH_MIN_AGE_MS,
  readWeb,
  renderWeb,
  toWebPolicy,
  type WebSettings,
  webSectionSchema,
} from './web-settings.ts';
