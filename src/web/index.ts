/**
 * web: the agent's HTTP server.
 *
 * Owns: listening sockets with TLS and limits, authentication and roles, routes, formats and encodings of responses, the status pages
 * with their style sheet and script, and the JSON behind them.
 * Does not own: the content; the agent supplies what each page and route asks for.
 * Start reading at: routes.ts, then pages/pages.ts for the pages, scrape.ts, and server/server.ts for connections and access.
 *
 *   server/   listening, TLS, users and roles, limits, encodings; its settings
 *   pages/    one file for each page, with the content it asks for
 *   api/      the contract of `/api/v1/`
 *   assets/   what runs in the browser
 */

export type { ConfigurationSummary, PlanSummary, SourceSummary, TrialResult } from './api/configuration.ts';
export type { EventQuery, EventSummary } from './api/events.ts';
export { eventSchema, listKinds, sortEvents } from './api/events.ts';
export type {
  LogGapSummary,
  LogLine,
  LogLineGap,
  LogRotationSummary,
  LogRow,
  RecordPage,
  RecordQuery,
  RouterLogSummary,
} from './api/logs.ts';
export type {
  DeadLetterDetail,
  DeadLetterPage,
  DeadLetterSummary,
  FleetMinute,
  FoundDeadLetter,
  ProcessSummary,
  SinkSummary,
  SpoolSummary,
} from './api/process.ts';
export type {
  DataPlanSummary,
  FamilyValues,
  HistoryPoint,
  ModuleValues,
  PaceSummary,
  PollSummary,
  ResourceSummary,
  RouterAnswer,
  RouterDetail,
  SessionSummary,
} from './api/router-detail.ts';
export type {
  DeviceSummary,
  InterfaceRate,
  LifecycleSummary,
  ListedRouter,
  PollFault,
  RouterFailureSummary,
  RouterSummary,
  SignalSummary,
} from './api/routers.ts';
export { deviceSchema, findSite, NO_DEVICE } from './api/routers.ts';
export { WebError } from './errors.ts';
export type { ClusterSummary, FleetShards, ForeignRouter } from './fan-out.ts';
export type { ReloadResult, StateResult } from './lifecycle.ts';
export { renderBitRate } from './pages/html.ts';
export { gradeSignal, SIGNAL_UNITS } from './pages/router-facts.ts';
export { createMatcher } from './pages/table-query.ts';
export type { WebContent } from './routes.ts';
export type { MetricsScope } from './scrape.ts';
export { describeOpenAccess } from './server/access.ts';
export type { MetricsFormat } from './server/answers.ts';
export { parseServerPaths } from './server/context.ts';
export type { WebSecurity, WebTls } from './server/security.ts';
export { openWebServer, type WebServer, type WebServerOptions } from './server/server.ts';
export { BCRYPT_COST_MAX, type LoadedWebConfig, loadWebConfig, webFileSchema } from './server/web-file.ts';
export {
  readWeb,
  toWebPolicy,
  type WebSettings,
  webSectionSchema,
} from './server/web-settings.ts';
export { cutToPage } from './whole-fleet.ts';
