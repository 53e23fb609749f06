/**
 * router: one router's REST service.
 *
 * Owns: the connection and its trust, the session (login, single-flight refresh, logout), the calls of the interface,
 * and what every failure of them means.
 * Does not own: when a call is made, and what an answer means beyond its envelope.
 * Start reading at: client.ts, then the diagram in session.ts.
 */
export { RouterClient, type RouterClientOptions } from './client.ts';
export { ROUTER_FAILURES, RouterError, type RouterFailure } from './errors.ts';
export type { SessionEvent } from './session.ts';
export type { RouterTls } from './transport.ts';
