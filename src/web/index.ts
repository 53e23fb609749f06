/**
 * web: what the agent serves over HTTP.
 *
 * Owns: the listening sockets, the routes, the status page.
 * Does not own: what is shown; it is handed over ready.
 * Start reading at: server.ts.
 */
export { WebError } from './errors.ts';
export { openWebServer, type WebAddress, type WebContent, type WebServer } from './server.ts';
export type { RouterRow } from './status-page.ts';
