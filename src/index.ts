/**
 * The package as a library: the client of a router's REST interface, and the few tools that its options need.
 * `router-exporter/simulator` is the other half: routers to try it on.
 *
 * ```ts
 * await using router = new RouterClient({ url, username, password });
 * const boards = await router.readStatus('device_info');
 * ```
 */
export {
  type Clock,
  CodedError,
  createSteppedClock,
  createSystemClock,
  type Disposition,
  renderErrorChain,
  Secret,
  type SteppedClock,
  type Timer,
} from './base/index.ts';
export * from './client/index.ts';
export { ROUTER_FAILURES, type RouterFailure, RouterReadError, type RouterReadErrorOptions } from './model/index.ts';
