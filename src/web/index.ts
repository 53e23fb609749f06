/**
 * web: the agent's HTTP server.
 *
 * Owns: the listening sockets with their TLS and bounds, authentication and roles, the routes, formats and encodings of responses, the status
 * pages, and the JSON behind them.
 * Does not own: the content; the agent supplies it.
 * Start reading at: server.ts and app.ts, then scrape.ts; pages/page-routes.ts for the pages. api/ is the contract
 * of `/api/v1/`.
 */

export type { ConfigurationSummary, PlanSummary, SourceSummary, TrialResult } from './api/configuration.ts';
export type {
  FoundLetter,
  LetterDetail,
  LetterPage,
  LetterSummary,
  SinkSummary,
  SpoolSummary,
} from './api/delivery.ts';
export type {
  LogGapSummary,
  LogLine,
  LogLineGap,
  LogRotationSummary,
  LogRow,
  RecordPage,
  RouterLogSummary,
} from './api/logs.ts';
export type { FleetMinute, ProcessSummary } from './api/process.ts';
export type {
  FamilyValues,
  HistoryPoint,
  InterfaceRate,
  ModuleValues,
  PaceSummary,
  PollPoint,
  PollSummary,
  ResourceSummary,
  RouterAnswer,
  RouterDetail,
  SessionSummary,
} from './api/router-detail.ts';
export type {
  DeviceSummary,
  LifecycleSummary,
  PollFault,
  PollStep,
  RouterFailureSummary,
  RouterSummary,
  SignalSummary,
} from './api/routers.ts';
export { NO_DEVICE } from './api/routers.ts';
export type {
  ClusterSummary,
  FleetShards,
  ForeignRouter,
  MetricsFormat,
  MetricsScope,
  RecordQuery,
  ReloadResult,
  StateResult,
  WebContent,
} from './content.ts';
export { WebError } from './errors.ts';
export { type LoadedWebConfig, loadWebConfig } from './load-web-config.ts';
export { createMatcher } from './pages/table-query.ts';
export { parseServerPaths } from './paths.ts';
export type { WebSecurity, WebTls } from './security.ts';
export { BCRYPT_COST_MAX } from './security.ts';
export { openWebServer, type WebServer, type WebServerOptions } from './server.ts';
export { webSchema } from './web-file-schema.ts';
export {
  describeOpenLifecycle,
  readWeb,
  toWebPolicy,
  type WebSettings,
  webSectionSchema,
} from './web-settings.ts';
export {
  cutToPage,
  isOlder,
  parseRecordPlace,
  type RecordPlace,
  renderRecordPlace,
} from './whole-fleet.ts';
