/**
 * status: what a router says about itself.
 *
 * Owns: which resources are read, and which metric families their documents become.
 * Does not own: how a resource is fetched, when, and how families are rendered.
 * Start reading at: poll-once.ts, resources.ts.
 */
export { type PollResult, pollOnce, type ResourceResult } from './poll-once.ts';
export { type DocumentSource, STATUS_RESOURCES } from './resources.ts';
